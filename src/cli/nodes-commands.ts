import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { done, examples, type Finish, group, identity, leaf, namedNode, nodeHelp, workingDir } from './command.ts'

export function nodesCommand(finish: Finish): Command {
  const nodes = group('nodes', 'list, inspect and stop running nodes')
  const commands = () => import('./commands/nodes.ts')
  nodes.addCommand(
    leaf('ls', 'list nodes, with their names and versions')
      .argument('[node...]', nodeHelp)
      .addOption(workingDir())
      .addOption(identity())
      .addOption(timeout())
      .option('--strict', 'exit with 1 if a node could not be listed')
      .addHelpText(
        'after',
        examples(
          ['shoal nodes ls', 'the node in ./shoal-data'],
          ['shoal nodes ls press7.local press8.local:4458', 'nodes on other machines, with your user key'],
          ['shoal nodes ls 10.0.0.7 --timeout 1 --json', 'as JSON, after at most a second'],
        ),
      )
      .action(
        done(finish, async (options, nodes) => {
          const names = nodes as string[]
          const named = (names.length === 0 ? [undefined] : names).map((name) => namedNode(options, name))
          const timeoutMs = Number(options['timeout']) * 1000
          return (await commands()).listNodes(named, timeoutMs, options['strict'] === true)
        }),
      ),
  )
  nodes.addCommand(
    leaf('inspect', 'print addresses, connections and known peers of a node')
      .argument('[node]', nodeHelp)
      .addOption(workingDir())
      .addOption(identity())
      .addHelpText(
        'after',
        examples(
          ['shoal nodes inspect', 'the node in ./shoal-data'],
          ['shoal nodes inspect press7.local --json', 'a node on another machine, as JSON'],
        ),
      )
      .action(done(finish, async (options, node) => (await commands()).inspectNode(namedNode(options, node)))),
  )
  nodes.addCommand(
    leaf('shutdown', 'stop a running node')
      .argument('[node]', nodeHelp)
      .addOption(workingDir())
      .addOption(identity())
      .addHelpText('after', examples(['shoal nodes shutdown press7.local', 'as SIGTERM does on its machine']))
      .action(done(finish, async (options, node) => (await commands()).shutDownNode(namedNode(options, node)))),
  )
  return nodes
}

function timeout(): Option {
  return new Option('-t, --timeout <seconds>', 'seconds for connecting and answering, 0 to 255')
    .default(5)
    .argParser((text) => {
      if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text)
      throw new InvalidArgumentError('Allowed: 0 to 255.')
    })
}
