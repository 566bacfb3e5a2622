import type { Command } from 'commander'
import { done, examples, type Finish, group, leaf } from './command.ts'

export function swarmsCommand(finish: Finish): Command {
  const swarms = group('swarms', 'keys of swarms')
  swarms.addCommand(
    leaf('keygen', 'make a new swarm key, which all nodes of a swarm share')
      .option('-o, --output <path>', 'file to create, or a folder for the file shoal-swarm.key')
      .addHelpText(
        'after',
        examples(
          ['shoal settings set /swarm/swarmKey "$(shoal swarms keygen)"', 'a new swarm of this node'],
          ['shoal swarms keygen -o ./hall-3.key', 'in a file, for the other nodes'],
        ),
      )
      .action(
        done(finish, async (options) =>
          (await import('../commands/swarms.ts')).makeSwarmKey(options['output'] as string | undefined),
        ),
      ),
  )
  return swarms
}
