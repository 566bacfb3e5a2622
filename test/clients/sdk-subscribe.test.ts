import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type ActyxEvent, type AqlResponse, type EventChunk, EventKey, type EventsOrTimetravel, Tags } from '@actyx/sdk'
import { ClientNode } from './node.ts'
import { Collected, connected, numbers } from './sdk.ts'

const node = await ClientNode.start({ after }, [{ from: "'aside'", into: 'aside' }])
const actyx = await connected({ after }, node)

const publish = (tag: string, from: number, to: number) =>
  actyx.publish(
    numbers(to)
      .slice(from)
      .map((n) => ({ tags: [tag], event: n })),
  )

/** The payloads of all events in messages. */
function eventsOf(messages: readonly EventsOrTimetravel<unknown>[]): unknown[] {
  return messages.flatMap((message) => (message.type === 'events' ? message.events.map(({ payload }) => payload) : []))
}

test('subscribe delivers present and new events without a gap', async () => {
  await publish('live', 0, 500)
  const collected = new Collected<ActyxEvent>()
  const cancel = actyx.subscribe({ query: Tags('live') }, collected.add, collected.fail)
  await collected.ofLength(1)
  for (let n = 500; n < 600; n += 10) await publish('live', n, n + 10)
  const events = await collected.ofLength(600)
  assert.deepEqual(
    events.map(({ payload }) => payload),
    numbers(600),
  )
  cancel()
  await publish('live', 600, 601)
  const again = new Collected<ActyxEvent>()
  const { stream = '', offset = 0 } = events[597]?.meta ?? {}
  const cancelAgain = actyx.subscribe({ query: Tags('live'), lowerBound: { [stream]: offset } }, again.add, again.fail)
  assert.deepEqual(
    (await again.ofLength(3)).map(({ payload }) => payload),
    [598, 599, 600],
  )
  assert.equal(collected.items.length, 600)
  cancelAgain()
})

test('a pending callback delays the next event of its subscription, but no other request', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const seen = new Collected<unknown>()
  const cancel = actyx.subscribe({ query: Tags('slow') }, ({ payload }) => {
    seen.add(payload)
    return promise
  })
  await publish('slow', 0, 3)
  await seen.ofLength(1)
  await actyx.queryAllKnown({ query: Tags('slow') })
  assert.deepEqual(seen.items, [0])
  resolve()
  assert.deepEqual(await seen.ofLength(3), [0, 1, 2])
  cancel()
})

test('subscribeChunked delivers chunks with contiguous bounds', async () => {
  await publish('chunked', 0, 250)
  const collected = new Collected<EventChunk>()
  const cancel = actyx.subscribeChunked(
    { query: Tags('chunked') },
    { maxChunkSize: 100, maxChunkTimeMs: 1 },
    collected.add,
    collected.fail,
  )
  const events = () => collected.items.flatMap(({ events: inside }) => inside.map(({ payload }) => payload))
  await collected.until(() => events().length >= 250)
  await publish('chunked', 250, 300)
  await collected.until(() => events().length >= 300)
  assert.deepEqual(events(), numbers(300))
  for (const [i, chunk] of collected.items.entries()) {
    assert.ok(chunk.events.length <= 100)
    assert.deepEqual(chunk.lowerBound, collected.items[i - 1]?.upperBound ?? {})
  }
  cancel()
})

test('subscribeAql delivers events, diagnostics and offsets, and reports a syntax error', async () => {
  await publish('aql', 0, 2)
  const collected = new Collected<AqlResponse>()
  const cancel = actyx.subscribeAql(`FROM 'aql' SELECT 10 / _`, collected.add, collected.fail)
  await collected.ofLength(3)
  await publish('aql', 2, 3)
  const answers = await collected.ofLength(4)
  assert.deepEqual(
    answers.map((answer) => (answer.type === 'event' ? answer.payload : answer.type)),
    ['diagnostic', 10, 'offsets', 5],
  )
  cancel()
  const problem = await new Promise((resolve) => actyx.subscribeAql('FROM ???', () => {}, resolve))
  assert.match(String(problem), /expected/)
})

test('subscribeAql starts after a lower bound', async () => {
  const metas = await publish('bound', 0, 3)
  const { stream = '', offset = 0 } = metas[1] ?? {}
  const collected = new Collected<AqlResponse>()
  const cancel = actyx.subscribeAql(`FROM 'bound'`, collected.add, collected.fail, { [stream]: offset })
  const [first] = await collected.ofLength(2)
  assert.equal(first?.type === 'event' && first.payload, 2)
  cancel()
})

test('subscribeMonotonic reports when it has caught up, and continues', async () => {
  await publish('mono', 0, 300)
  const collected = new Collected<EventsOrTimetravel<unknown>>()
  const start = { from: {}, latestEventKey: EventKey.zero }
  const cancel = actyx.subscribeMonotonic(
    { sessionId: 'mono', query: Tags('mono'), attemptStartFrom: start },
    collected.add,
    collected.fail,
  )
  const isCaughtUp = (messages: readonly EventsOrTimetravel<unknown>[]) => {
    const last = messages.at(-1)
    return last?.type === 'events' && last.caughtUp
  }
  await collected.until((messages) => eventsOf(messages).length === 300 && isCaughtUp(messages))
  await publish('mono', 300, 310)
  const messages = await collected.until((all) => eventsOf(all).length === 310 && isCaughtUp(all))
  assert.deepEqual(eventsOf(messages), numbers(310))
  cancel()
})

test('subscribeMonotonic reports a time travel when events sort before known ones', async () => {
  const [first] = await publish('travel', 0, 1)
  const [known] = await actyx.publish([{ tags: ['travel', 'aside'], event: 'known' }])
  assert.ok(first && known)
  const key = ({ lamport, stream, offset }: EventKey) => ({ lamport, stream, offset })
  const travelled = async (latestEventKey: EventKey) => {
    const collected = new Collected<EventsOrTimetravel<unknown>>()
    const from = { [known.stream]: known.offset }
    actyx.subscribeMonotonic(
      { sessionId: 'travel', query: Tags('travel'), attemptStartFrom: { from, latestEventKey } },
      collected.add,
    )
    const [message] = await collected.ofLength(1)
    return message?.type === 'timetravel' ? key(message.trigger) : message
  }
  // With the right key the client detects it, with the zero key the node does.
  assert.deepEqual(await travelled(key(known)), key(first))
  assert.deepEqual(await travelled(EventKey.zero), key(first))
})
