import type { Command } from 'commander'
import type { BindOptions } from '../bind-options.ts'
import { done, examples, type Finish, leaf, namedNode, onNode, withBindOptions } from './command.ts'

export function doctorCommand(finish: Finish): Command {
  return withBindOptions(onNode(leaf('doctor', 'look for faults of a node, running or stopped, and how to fix them')))
    .option('--strict', 'exit with 1 also for warnings')
    .addHelpText('after', doctorHelp)
    .action(
      done(finish, async (options, node) => {
        const { endpointsOf } = await import('../bind-options.ts')
        const { diagnose } = await import('../commands/doctor.ts')
        const endpoints = endpointsOf(options as BindOptions)
        return await diagnose(namedNode(options, node), endpoints, options['strict'] === true)
      }),
    )
}

const doctorHelp = `
The addresses of --bind-api, --bind-admin and --bind-swarm are checked when the node is stopped. The exit code is 1 if
an error was found.
${examples(
  ['shoal doctor', 'the node in ./shoal-data, running or stopped'],
  ['shoal doctor press7.local', 'a node on another machine, with your user key'],
  ['shoal doctor --json --strict', 'for scripts: exit code 1 also for warnings'],
)}`
