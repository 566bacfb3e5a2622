import assert from 'node:assert/strict'
import { checkNext, checkUnaltered, compareKeys, eventOf, type ReceivedEvent, readLines } from '../event-lines.ts'
import type { Ledger } from '../ledger.ts'
import type { WholeNode } from '../whole-node.ts'
import { allEvents } from './subscriber.ts'

/** All events of a node, in ascending order. */
async function queryAll(node: WholeNode): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = []
  const request = { ...allEvents, order: 'asc', lowerBound: {}, upperBound: undefined } as const
  await readLines(node.store.start('query', request), (line) => {
    const event = eventOf(line)
    if (event !== undefined) events.push(event)
  })
  return events
}

/** A query at any moment: in order, without gaps, unaltered, and with all events that this node has acknowledged. */
export async function checkQuery(node: WholeNode, ledger: Ledger): Promise<ReceivedEvent[]> {
  const own = ledger.countsOf(node.id)
  const counts = new Map<string, number>()
  const events = await queryAll(node)
  for (const [i, event] of events.entries()) {
    const { stream, offset } = event
    checkNext(event, counts.get(stream) ?? 0, ledger, node.label)
    counts.set(stream, offset + 1)
    const last = events[i - 1]
    if (last !== undefined && compareKeys(last, event) >= 0) assert.fail(`a query of ${node.label} is not in order`)
    checkUnaltered(event, ledger, node.label)
  }
  for (const [stream, count] of own)
    assert.ok(
      !ledger.isHonest(stream) || ledger.nextKept(stream, counts.get(stream) ?? 0) >= count,
      `a query of ${node.label} lacks acknowledged events of ${stream}`,
    )
  return events
}
