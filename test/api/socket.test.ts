import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventsIn, nodeId, sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { TestSocket } from '../support/socket.ts'

const stream = `${nodeId}-0`

async function start(t: TestContext): Promise<{ api: TestApi; socket: TestSocket }> {
  const api = await startApi(t, { store: await sqliteStore(t) })
  return { api, socket: await TestSocket.open(t, api) }
}

const events = (tag: string, payloads: readonly unknown[]) => ({
  data: payloads.map((payload) => ({ tags: [tag], payload })),
})

test('responses match the transcript of the specification', async (t) => {
  const { api, socket } = await start(t)
  socket.request(0, 'offsets', null)
  assert.deepEqual(await socket.take(), {
    type: 'next',
    requestId: 0,
    payload: [{ present: { [stream]: 3 }, toReplicate: {} }],
  })
  assert.deepEqual(await socket.take(), { type: 'complete', requestId: 0 })

  socket.request(2, 'publish', events('x', [{ n: 2 }]))
  const published = await socket.take()
  const [{ data } = {}] = published.payload ?? []
  const [{ timestamp, ...key }] = data as [Record<string, unknown>]
  assert.deepEqual(key, { lamport: 4, stream, offset: 4 })
  assert.deepEqual(await socket.take(), { type: 'complete', requestId: 2 })

  socket.request(3, 'query', { query: "FROM 'x'", order: 'asc' })
  const event = {
    type: 'event',
    lamport: 4,
    stream,
    offset: 4,
    timestamp,
    tags: ['x'],
    appId: 'com.example.test',
    payload: { n: 2 },
  }
  const offsets = { type: 'offsets', offsets: { [stream]: 4 } }
  assert.deepEqual(await socket.take(), { type: 'next', requestId: 3, payload: [event, offsets] })
  assert.deepEqual(await socket.take(), { type: 'complete', requestId: 3 })

  socket.request(4, 'query', 'x')
  const refused = await socket.take()
  assert.equal(refused.type, 'error')
  assert.equal(refused.kind?.['type'], 'badRequest')
  assert.match(String(refused.kind?.['message']), /^invalid type: string/)
  assert.deepEqual(await socket.take(), { type: 'complete', requestId: 4 })

  socket.request(6, 'subscribe', { query: "FROM 'live'" })
  assert.deepEqual(await socket.take(), { type: 'next', requestId: 6, payload: [offsets] })
  await api.publish(JSON.stringify(events('live', ['a', 'b'])))
  const live = await socket.take()
  assert.deepEqual([live.type, live.requestId], ['next', 6])
  assert.deepEqual(
    live.payload?.map(({ payload }) => payload),
    ['a', 'b'],
  )
  socket.cancel(6)
  await api.reading(-1).ended

  socket.request(9, 'subscribe_monotonic', { session: 'x', query: "FROM 'live'", lowerBound: {} })
  const caught = await socket.take()
  assert.deepEqual(
    caught.payload?.map(({ type, payload, caughtUp }) => [type, payload, caughtUp]),
    [
      ['event', 'a', false],
      ['event', 'b', true],
      ['offsets', undefined, undefined],
    ],
  )
  await api.publish(JSON.stringify(events('live', ['c', 'd'])))
  assert.deepEqual(
    (await socket.take()).payload?.map(({ payload, caughtUp }) => [payload, caughtUp]),
    [
      ['c', false],
      ['d', true],
    ],
  )
  socket.cancel(999)
  await socket.settled()
  const unasked = socket.messages.filter(({ requestId }) => requestId === 6 || requestId === 999)
  assert.equal(unasked.length, 2, 'a cancelled subscription sends nothing more')
})

test('items are sent in order, at most 128 per message', async (t) => {
  const { api, socket } = await start(t)
  const payloads = Array.from({ length: 1000 }, (_, i) => i)
  await api.publish(JSON.stringify(events('many', payloads)))
  socket.request(1, 'query', { query: "FROM 'many'", order: 'asc' })
  const responses = await socket.answered(1)
  const items = responses.flatMap(({ payload }) => payload ?? [])
  assert.deepEqual(
    items.map(({ type, payload }) => (type === 'event' ? payload : type)),
    [...payloads, 'offsets'],
  )
  assert.ok(responses.every(({ payload = [0] }) => payload.length >= 1 && payload.length <= 128))
  assert.ok(responses.length < 100, 'items are batched')
})

test('a request ID in use cancels its previous request silently', async (t) => {
  const { api, socket } = await start(t)
  socket.request(1, 'subscribe', { query: "FROM 'first'" })
  await socket.take()
  socket.request(1, 'subscribe', { query: "FROM 'second'" })
  await api.reading(0).ended
  await socket.take()
  await api.publish(JSON.stringify({ data: ['first', 'second'].map((tag) => ({ tags: [tag], payload: tag })) }))
  assert.deepEqual(
    (await socket.take()).payload?.map(({ payload }) => payload),
    ['second'],
  )
  await socket.settled()
  const types = socket.messages.filter(({ requestId }) => requestId === 1).map(({ type }) => type)
  assert.deepEqual(types, ['next', 'next', 'next'])
})

test('a request ID can be reused and cancelled after its request has completed', async (t) => {
  const { socket } = await start(t)
  for (let round = 0; round < 3; round++) {
    socket.request(5, 'offsets', null)
    assert.equal((await socket.take()).type, 'next')
    assert.equal((await socket.take()).type, 'complete')
    socket.cancel(5)
  }
  await socket.settled()
})

test('an unknown service is rejected with the list of services, and nothing follows', async (t) => {
  const { socket } = await start(t)
  socket.request(1, 'foo', null)
  assert.deepEqual(await socket.take(), {
    type: 'error',
    requestId: 1,
    kind: {
      type: 'unknownEndpoint',
      endpoint: 'foo',
      valid_endpoints: ['offsets', 'publish', 'query', 'subscribe', 'subscribe_monotonic'],
    },
  })
  await socket.settled()
  assert.equal(socket.texts.length, 3)
})

test('the largest 64-bit request ID is returned exactly', async (t) => {
  const { socket } = await start(t)
  socket.send('{"type":"request","requestId":18446744073709551615,"serviceId":"offsets","payload":null}')
  await socket.take()
  await socket.take()
  assert.match(socket.texts[0] ?? '', /^\{"type":"next","requestId":18446744073709551615,/)
  assert.equal(socket.texts[1], '{"type":"complete","requestId":18446744073709551615}')
})

test('members are accepted in any order, and unknown ones are ignored', async (t) => {
  const { socket } = await start(t)
  socket.send(' { "payload":null,"x":[{"type":"cancel"}],"requestId":7 ,"serviceId":"off\\u0073ets","type":"request"}')
  assert.equal((await socket.take()).requestId, 7)
})

const malformed: readonly (readonly [name: string, frame: string | Buffer])[] = [
  ['malformed JSON', 'rubbish'],
  ['an empty message', ''],
  ['another value than an object', '[]'],
  ['something after the object', '{"type":"cancel","requestId":1}x'],
  ['an unknown type', '{"type":"next","requestId":1,"payload":[]}'],
  ['no type', '{"requestId":1}'],
  ['no request ID', '{"type":"cancel"}'],
  ['a negative request ID', '{"type":"cancel","requestId":-1}'],
  ['a fractional request ID', '{"type":"cancel","requestId":1.5}'],
  ['a request ID with an exponent', '{"type":"cancel","requestId":1e3}'],
  ['a request ID above 64 bits', '{"type":"cancel","requestId":18446744073709551616}'],
  ['a request ID as a string', '{"type":"cancel","requestId":"1"}'],
  ['a request without a payload', '{"type":"request","requestId":1,"serviceId":"offsets"}'],
  ['a service that is not a string', '{"type":"request","requestId":1,"serviceId":7,"payload":null}'],
  [
    'nesting that is too deep',
    `{"type":"request","requestId":1,"serviceId":"x","payload":${'['.repeat(600)}${']'.repeat(600)}}`,
  ],
  ['a binary message', Buffer.from('{"type":"cancel","requestId":1}')],
]

test('a malformed message cancels all requests and closes the socket without an error message', async (t) => {
  const api = await startApi(t, { store: await sqliteStore(t) })
  for (const [name, frame] of malformed) {
    const socket = await TestSocket.open(t, api)
    socket.request(1, 'subscribe', { query: 'FROM allEvents' })
    await socket.take()
    socket.send(frame)
    assert.equal(await socket.closed, 1005, name)
    assert.equal(socket.texts.length, 1, name)
    await api.reading(-1).ended
  }
  const socket = await TestSocket.open(t, api)
  await socket.settled()
})

test('messages after a malformed message are not processed', async (t) => {
  const { api, socket } = await start(t)
  const before = await eventsIn(api.store)
  socket.send('rubbish')
  socket.request(1, 'publish', events('x', [1]))
  assert.equal(await socket.closed, 1005)
  await api.publish(JSON.stringify(events('y', [2])))
  assert.equal((await eventsIn(api.store)).length, before.length + 1)
})

test('the subscriptions of a client end when it disconnects', async (t) => {
  const { api, socket } = await start(t)
  for (const id of [1, 2, 3]) {
    socket.request(id, 'subscribe', { query: "FROM 'x'" })
    await socket.take()
  }
  socket.socket.terminate()
  await Promise.all(api.readings.map(({ ended }) => ended))
  assert.equal(api.readings.length, 3)
})
