import { type Command, InvalidArgumentError, Option } from 'commander'
import { done, examples, type Finish, leaf, namedNode, onNode } from './command.ts'

/** Events of a run at most. */
const maxEvents = 1_000_000

export function benchCommand(finish: Finish): Command {
  return onNode(leaf('bench', 'measure how fast a node publishes, queries and delivers events'))
    .addOption(
      new Option('--events <count>', `events to publish, up to ${maxEvents}`).default(10_000).argParser((text) => {
        if (/^\d{1,7}$/.test(text) && Number(text) <= maxEvents) return Number(text)
        throw new InvalidArgumentError(`Allowed: up to ${maxEvents}.`)
      }),
    )
    .option('--yes', 'publish the events without asking')
    .addHelpText(
      'after',
      `
It publishes events, which reach all nodes of the swarm and stay until they are pruned: measure a node whose topic is
not used for work. All of them have the tag shoal-bench.
${examples(
  ['shoal bench', 'the node in ./shoal-data; asks before it publishes'],
  ['shoal bench --yes --events 100000 --json', 'for scripts'],
)}`,
    )
    .action(
      done(finish, async (options, node) => {
        const { benchNode } = await import('../commands/bench.ts')
        const [events, isConfirmed, isJson] = [
          Number(options['events']),
          options['yes'] === true,
          options['json'] === true,
        ]
        return await benchNode(namedNode(options, node), { events, isConfirmed, isJson })
      }),
    )
}
