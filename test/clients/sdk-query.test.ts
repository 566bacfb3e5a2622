import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type AqlResponse, type EventChunk, EventKey, EventsSortOrder, Tags } from '@actyx/sdk'
import { ClientNode } from './node.ts'
import { Collected, connected, numbers } from './sdk.ts'

const count = 1000
const node = await ClientNode.start({ after }, [{ from: "'odd'", into: 'odd' }])
const actyx = await connected({ after }, node)
/** Events in two streams: even numbers in one, odd numbers in the other. */
await actyx.publish(numbers(count).map((n) => ({ tags: ['n', n % 2 === 0 ? 'even' : 'odd'], event: n })))
const present = await actyx.present()
const all = Tags<number>('n')

const payloads = (events: readonly { payload: unknown }[]) => events.map(({ payload }) => payload)

/** Collects all chunks of a chunked query. */
async function chunks<T>(
  start: (onChunk: (chunk: T) => void, onEnd: (problem?: unknown) => void) => void,
): Promise<T[]> {
  const found: T[] = []
  await new Promise<void>((resolve, reject) => {
    start(
      (chunk) => found.push(chunk),
      (problem) => (problem === undefined ? resolve() : reject(problem)),
    )
  })
  return found
}

test('queryAllKnown returns all events in order', async () => {
  const { events, lowerBound, upperBound } = await actyx.queryAllKnown({ query: all })
  assert.deepEqual(payloads(events), numbers(count))
  assert.deepEqual(lowerBound, {})
  assert.deepEqual(upperBound, present)
  assert.equal(new Set(events.map(({ meta }) => meta.stream)).size, 2)
})

test('queryKnownRange supports each order, and respects its bounds', async () => {
  const range = { query: all, upperBound: present }
  assert.deepEqual(payloads(await actyx.queryKnownRange({ ...range })), numbers(count))
  const descending = await actyx.queryKnownRange({ ...range, order: EventsSortOrder.Descending })
  assert.deepEqual(payloads(descending), numbers(count).reverse())
  const byStream = payloads(await actyx.queryKnownRange({ ...range, order: EventsSortOrder.StreamAscending }))
  for (const rest of [0, 1])
    assert.deepEqual(
      byStream.filter((n) => Number(n) % 2 === rest),
      numbers(count).filter((n) => n % 2 === rest),
    )
  const middle = descending[count / 2]?.meta
  assert.ok(middle)
  const upTo = await actyx.queryKnownRange({ query: all, upperBound: { [middle.stream]: middle.offset } })
  assert.equal(upTo.at(-1)?.meta.eventId, middle.eventId)
  const from = await actyx.queryKnownRange({ ...range, lowerBound: { ...present, [middle.stream]: middle.offset } })
  assert.equal(upTo.length + from.length, count / 2)
})

test('queryKnownRange with an unknown upper bound returns nothing', async () => {
  const [stream = ''] = Object.keys(present)
  const beyond = { ...present, [stream]: (present[stream] ?? 0) + 1_000_000 }
  // These clients cannot report the error: the result is empty.
  assert.deepEqual(await actyx.queryKnownRange({ query: all, upperBound: beyond }), [])
})

test('chunks have the requested size and contiguous bounds', async () => {
  const found = await chunks<EventChunk>((onChunk, onEnd) =>
    actyx.queryAllKnownChunked({ query: all, order: EventsSortOrder.Ascending }, 300, onChunk, onEnd),
  )
  assert.deepEqual(
    found.map(({ events }) => events.length),
    [300, 300, 300, 100],
  )
  assert.deepEqual(payloads(found.flatMap(({ events }) => events)), numbers(count))
  for (const [i, chunk] of found.entries()) assert.deepEqual(chunk.lowerBound, found[i - 1]?.upperBound ?? {})
  const backwards = await chunks<EventChunk>((onChunk, onEnd) =>
    actyx.queryKnownRangeChunked(
      { query: all, upperBound: present, order: EventsSortOrder.Descending },
      999,
      onChunk,
      onEnd,
    ),
  )
  assert.deepEqual(payloads(backwards.flatMap(({ events }) => events)), numbers(count).reverse())
})

test('a cancelled chunked query delivers nothing more', async () => {
  const collected = new Collected<number>()
  const cancel = actyx.queryAllKnownChunked({ query: all, order: EventsSortOrder.Ascending }, 1, ({ events }) => {
    collected.add(events.length)
    if (collected.items.length === 3) cancel()
  })
  await collected.ofLength(3)
  // A later response arrives after everything that was still in flight for this query.
  await actyx.queryAllKnown({ query: all })
  assert.equal(collected.items.length, 3)
})

test('a horizon excludes the events before it', async () => {
  const { events } = await actyx.queryAllKnown({ query: all })
  const at = events[700]?.meta
  assert.ok(at)
  const horizon = EventKey.format({ lamport: at.lamport, stream: at.stream, offset: at.offset })
  const later = await actyx.queryKnownRange({ query: all, upperBound: present, horizon })
  assert.deepEqual(payloads(later), numbers(count).slice(700))
})

test('queryAql returns events, diagnostics and offsets', async () => {
  const answers = await actyx.queryAql(`FROM 'n' FILTER _ < 3 SELECT _.x ?? _ * 10`)
  assert.deepEqual(
    answers.map((answer) => (answer.type === 'event' ? answer.payload : answer.type)),
    [0, 10, 20, 'offsets'],
  )
  const diagnosed = await actyx.queryAql(`FROM 'n' & 'odd' FILTER _ < 2 SELECT _.x`)
  assert.ok(diagnosed.some(({ type }) => type === 'diagnostic'))
  const descending = await actyx.queryAql({ query: `FROM 'n' LIMIT 2`, order: EventsSortOrder.Descending })
  assert.deepEqual(payloads(descending.slice(0, 2) as { payload: unknown }[]), [count - 1, count - 2])
  const [sum] = await actyx.queryAql(`FEATURES(aggregate) FROM 'n' AGGREGATE SUM(_)`)
  assert.equal((sum as { payload?: unknown }).payload, (count * (count - 1)) / 2)
  await assert.rejects(actyx.queryAql('FROM ???'), /expected/)
})

test('queryAqlChunked returns chunks of the requested size', async () => {
  const found = await chunks<AqlResponse[]>((onChunk, onEnd) => {
    actyx.queryAqlChunked(`FROM 'n'`, 400, onChunk, onEnd)
  })
  assert.deepEqual(
    found.map(({ length }) => length),
    [400, 400, 201],
  )
  await assert.rejects(
    chunks((onChunk, onEnd) => {
      actyx.queryAqlChunked('nonsense', 1, onChunk, onEnd)
    }),
    /expected/,
  )
})
