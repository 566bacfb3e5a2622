import type { Command } from 'commander'
import type { ReadKind } from '../commands/events.ts'
import { collect, done, examples, type Finish, group, leaf, namedNode, onNode, withNodeOptions } from './command.ts'
import { redactCommand } from './redact-command.ts'

const queryHelp = 'AQL; @file reads a file, @- the standard input'
const nodeFirst = 'the node, if another argument follows'

export function eventsCommand(finish: Finish): Command {
  const events = group('events', 'read and publish events of a running node')
  const commands = () => import('../commands/events.ts')
  events.addCommand(
    onNode(leaf('offsets', 'print how many events the node has of each stream, and how many it lacks'))
      .addHelpText('after', examples(['shoal events offsets press7.local', 'of a node on another machine']))
      .action(done(finish, async (options, node) => (await commands()).showOffsets(namedNode(options, node)))),
  )
  events.addCommand(
    reading(finish, 'query', 'print the results of a query, oldest event first', [
      `shoal events query "FROM 'temperature' & 'hall-3'"`,
      'of the node in ./shoal-data',
    ]),
  )
  events.addCommand(subscribeCommand(finish))
  events.addCommand(
    reading(finish, 'tail', 'print new results of a query until Ctrl+C', [
      `shoal events tail "FROM 'alarm' SELECT _.text"`,
      'what is published from now on',
    ]),
  )
  events.addCommand(
    withNodeOptions(
      leaf('publish', 'publish an event, in the name of com.actyx.cli')
        .argument('<node-or-payload>', `${nodeFirst}; otherwise the payload`)
        .argument('[payload]', 'JSON; @file reads a file, @- the standard input')
        .option('-t, --tag <tag>', 'a tag of the event; several are possible', collect),
    )
      .addHelpText(
        'after',
        examples([`shoal events publish '{"text":"hello"}' -t greeting`, 'to the node in ./shoal-data']),
      )
      .action(
        done(finish, async (options, first, second) => {
          const [node, payload] = second === undefined ? [undefined, first] : [first, second]
          const tags = (options['tag'] ?? []) as string[]
          return (await commands()).publishEvent(namedNode(options, node), String(payload), tags)
        }),
      ),
  )
  events.addCommand(redactCommand(finish))
  return events
}

/** Also `internal events subscribe`, as the reference system has it. */
export function subscribeCommand(finish: Finish): Command {
  return reading(finish, 'subscribe', 'print all results of a query, and new ones until Ctrl+C', [
    'shoal events subscribe press7.local "FROM allEvents" --json',
    'one line of JSON per event',
  ])
}

/** `internal events subscribe-monotonic`, as the reference system has it. */
export function monotonicCommand(finish: Finish): Command {
  return reading(finish, 'subscribe-monotonic', 'the same in the order of events, until one arrives late', [
    'shoal internal events subscribe-monotonic press7.local "FROM allEvents"',
    'ends with a line about the event that came late',
  ])
}

function reading(finish: Finish, kind: ReadKind, description: string, ...shown: [string, string][]): Command {
  return withNodeOptions(
    leaf(kind, description)
      .argument('<node-or-query>', `${nodeFirst}; otherwise the query`)
      .argument('[query]', queryHelp),
  )
    .addHelpText('after', examples(...shown))
    .action(
      done(finish, async (options, first, second) => {
        const [node, query] = second === undefined ? [undefined, first] : [first, second]
        const named = namedNode(options, node)
        const { readEvents } = await import('../commands/events.ts')
        return readEvents(named, kind, String(query), options['json'] === true)
      }),
    )
}
