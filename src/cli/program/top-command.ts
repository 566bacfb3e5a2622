import type { Command } from 'commander'
import { done, examples, type Finish, leaf, namedNode, onNode } from './command.ts'

export function topCommand(finish: Finish): Command {
  return onNode(leaf('top', 'show what a running node does: events, queries, storage, peers'))
    .addHelpText(
      'after',
      `
On a terminal it is drawn once a second until q or Ctrl+C; in a pipe it is printed once.
${examples(
  ['shoal top', 'the node in ./shoal-data'],
  ['shoal top press7.local', 'a node on another machine, with your user key'],
  ['shoal top --json', 'one measurement of a second, as JSON'],
)}`,
    )
    .action(
      done(finish, async (options, node) =>
        (await import('../commands/top.ts')).showTop(namedNode(options, node), options['json'] === true),
      ),
    )
}
