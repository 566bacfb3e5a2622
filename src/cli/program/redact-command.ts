import type { Command } from 'commander'
import { isEventReference } from '../event-references.ts'
import { done, examples, type Finish, leaf, namedNode, withNodeOptions } from './command.ts'

export function redactCommand(finish: Finish): Command {
  return withNodeOptions(
    leaf('redact', 'remove the payloads of events for ever, on all nodes; by the node that has published them')
      .argument('[node-or-event]', 'the node, if it is not that of --working-dir; otherwise an event')
      .argument('[event...]', '<stream ID>/<offset>, or <stream ID>/<first offset>-<last offset>')
      .option('-q, --query <aql>', 'redact the events that a query selects; @file reads a file, @- the standard input')
      .option('--yes', 'do not ask for confirmation'),
  )
    .addHelpText(
      'after',
      examples(
        ['shoal events redact press7.local QJ5s…-0/117 QJ5s…-0/120-124', 'six events, by their offsets'],
        [`shoal events redact press7.local --query "FROM 'customer:4711'"`, 'shows the events, and asks'],
      ),
    )
    .action(
      done(finish, async (options, first, others) => {
        const words = [...(first === undefined ? [] : [String(first)]), ...(others as string[])]
        const [head = ''] = words
        const node = words.length === 0 || isEventReference(head) ? undefined : head
        const events = node === undefined ? words : words.slice(1)
        const query = options['query'] as string | undefined
        const { redactEvents } = await import('../commands/redact-events.ts')
        return redactEvents(namedNode(options, node), { events, query, isConfirmed: options['yes'] === true })
      }),
    )
}
