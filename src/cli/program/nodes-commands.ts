import type { Command } from 'commander'
import { done, examples, type Finish, group, leaf, namedNode, namedNodes, onNode, onSeveralNodes } from './command.ts'

export function nodesCommand(finish: Finish): Command {
  const nodes = group('nodes', 'list, inspect, check and stop running nodes')
  const commands = () => import('../commands/nodes.ts')
  nodes.addCommand(
    onSeveralNodes(leaf('ls', 'list nodes, with their names and versions'))
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
          const { named, timeoutMs, isStrict } = namedNodes(options, nodes)
          return (await commands()).listNodes(named, timeoutMs, isStrict)
        }),
      ),
  )
  nodes.addCommand(
    onNode(leaf('inspect', 'print addresses, connections and known peers of a node'))
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
    onNode(leaf('health', 'say whether a node is ready, and why not; the exit code is 0 only if it is'))
      .addHelpText(
        'after',
        examples(
          ['shoal nodes health', 'the node in ./shoal-data'],
          ['until shoal nodes health press7.local; do sleep 1; done', 'wait for a node on another machine'],
          ['shoal nodes health --json | jq .result.problems', 'the reasons, as JSON'],
        ),
      )
      .action(done(finish, async (options, node) => (await commands()).nodeHealth(namedNode(options, node)))),
  )
  nodes.addCommand(shutdownCommand(finish))
  return nodes
}

/** Also `internal shutdown`, as the reference system has it. */
export function shutdownCommand(finish: Finish): Command {
  return onNode(leaf('shutdown', 'stop a running node'))
    .addHelpText('after', examples(['shoal nodes shutdown press7.local', 'as SIGTERM does on its machine']))
    .action(
      done(finish, async (options, node) =>
        (await import('../commands/nodes.ts')).shutDownNode(namedNode(options, node)),
      ),
    )
}
