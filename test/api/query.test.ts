import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { nodeId, sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { Lines } from '../support/lines.ts'

async function start(t: TestContext, keepAliveMs?: number): Promise<TestApi> {
  return await startApi(t, { store: await sqliteStore(t), ...(keepAliveMs !== undefined && { keepAliveMs }) })
}

function read(api: TestApi, endpoint: string, body: object, signal?: AbortSignal): Promise<Response> {
  return api.call(`/api/v2/events/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}

const publish = (api: TestApi, ...payloads: unknown[]) =>
  api.publish(JSON.stringify({ data: payloads.map((payload) => ({ tags: ['x'], payload })) }))

test('a query responds with NDJSON, with the offsets in the last line', async (t) => {
  const api = await start(t)
  await publish(api, 1, { a: 'ö' })
  const response = await read(api, 'query', { query: "FROM 'x'", order: 'desc' })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(response.headers.get('transfer-encoding'), 'chunked')
  const text = await response.text()
  assert.ok(text.endsWith('\n'))
  const lines = text.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).map(({ payload, offsets }) => payload ?? offsets),
    [{ a: 'ö' }, 1, { [`${nodeId}-0`]: 5 }],
  )
})

test('a key without a stream sorts before all events of its lamport timestamp, also for PRAGMA events', async (t) => {
  const api = await start(t)
  const events = ['{"payload":"a"}', '{"payload":"b"}', '{"payload":"c"}'].join('\n')
  const payloads = async (tags: string) => {
    const query = `PRAGMA events\n${events}\nENDPRAGMA\nFROM ${tags}`
    const lines = (await (await read(api, 'query', { query, order: 'asc' })).text()).trimEnd().split('\n')
    return lines.slice(0, -1).map((line) => (JSON.parse(line) as { payload: unknown }).payload)
  }
  assert.deepEqual(await payloads('KEY > 1'), ['b', 'c'])
  assert.deepEqual(await payloads('KEY <= 1'), ['a'])
})

test('an idle stream sends an empty line as keep-alive', async (t) => {
  const api = await start(t, 10)
  const response = await read(api, 'subscribe', { query: "FROM 'x'" })
  const lines = new Lines(response)
  // A keep-alive may also precede the offsets, when the query takes longer than the interval.
  const nextMessage = async () => {
    for (;;) {
      const line = await lines.next()
      if (line !== '') return JSON.parse(line)
    }
  }
  assert.equal((await nextMessage())['type'], 'offsets')
  assert.equal(await lines.next(), '')
  assert.equal(await lines.next(), '')
  await publish(api, 'after a pause')
  assert.equal((await nextMessage())['payload'], 'after a pause')
  await lines.cancel()
})

test('a subscription delivers every event once, from present to new ones', async (t) => {
  const api = await start(t)
  await publish(api, 0, 1)
  const lines = new Lines(await read(api, 'subscribe', { query: "FROM 'x'" }))
  const payloads: unknown[] = []
  for (let n = 2; payloads.length < 21; ) {
    const message = JSON.parse(await lines.next())
    payloads.push(message['type'] === 'event' ? message['payload'] : message['type'])
    if (payloads.length < 3) continue
    if (n < 20) await publish(api, n++, n++)
  }
  assert.deepEqual(payloads, [0, 1, 'offsets', ...Array.from({ length: 18 }, (_, i) => i + 2)])
  await lines.cancel()
})

test('a subscription ends when its client disconnects', async (t) => {
  const api = await start(t)
  const lines = new Lines(await read(api, 'subscribe', { query: "FROM 'x'" }))
  await lines.next()
  await lines.cancel()
  await api.reading(0).ended
})

test('the query of a slow client is paused by backpressure, and ends when the client disconnects', async (t) => {
  const api = await start(t)
  for (let i = 0; i < 10; i++) await publish(api, ...Array(8).fill('x'.repeat(1_000_000)))
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const body = JSON.stringify({ query: "FROM 'x'", order: 'asc' })
  const headers = { authorization: `Bearer ${api.token}`, 'content-length': body.length }
  const slow = request(`${api.url}/api/v2/events/query`, { method: 'POST', headers }, () => resolve())
  slow.on('error', () => {})
  slow.end(body)
  await ended
  const whole = await read(api, 'query', { query: "FROM 'x'", order: 'asc' })
  assert.ok((await whole.text()).length > 80_000_000)
  const [unread] = api.readings
  // Socket buffers of the operating system can take tens of megabytes.
  assert.ok(unread && unread.bytes < 60_000_000, `${unread?.bytes} bytes were read for a client that does not read`)
  slow.destroy()
  await unread.ended
})

test('an invalid request is rejected with a status code before the first line', async (t) => {
  const api = await start(t)
  const refused = async (endpoint: string, body: object) => {
    const response = await read(api, endpoint, body)
    const { code, message } = (await response.json()) as { code: string; message: string }
    return [response.status, code, message] as const
  }
  const [status, code, message] = await refused('query', { query: 'FROM x', order: 'asc' })
  assert.deepEqual([status, code], [400, 'ERR_BAD_REQUEST'])
  assert.match(message, /^Invalid request\. {2}--> 1:6\n/)
  assert.deepEqual(await refused('subscribe', { query: "FROM 'x' AGGREGATE SUM(_)" }), [
    400,
    'ERR_BAD_REQUEST',
    'Invalid request. The query uses beta features that are not enabled: aggregate.',
  ])
  const [teapot, feature] = await refused('subscribe_monotonic', { query: "FROM 'x' LIMIT 1", session: 's' })
  assert.deepEqual([teapot, feature], [418, 'ERR_UNSUPPORTED_FEATURE'])
  const half = await refused('query', { query: "FROM '\ud800'", order: 'asc' })
  assert.deepEqual(half, [400, 'ERR_BAD_REQUEST', 'Invalid request. lone surrogate in hex escape at `query`'])
  const long = `FROM '${'x'.repeat(limits.queryBytes)}'`
  assert.match((await refused('query', { query: long, order: 'asc' }))[2], /The query has more than 1048576 bytes\./)
})

test('an error after the first byte is sent as a diagnostic and an error object, without offsets', async (t) => {
  const api = await start(t)
  const upperBound = { [`${nodeId}-0`]: 1_000_000 }
  const response = await read(api, 'query', { query: "FROM 'x'", order: 'asc', upperBound })
  assert.equal(response.status, 200)
  const message = 'Query bounds out of range: upper bound must be within the known present.'
  const lines = (await response.text()).trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      { type: 'diagnostic', severity: 'error', message },
      { code: 'ERR_BAD_REQUEST', message: `Invalid request. ${message}` },
    ],
  )
})

test('an evaluation error in one event is a warning, and the stream continues', async (t) => {
  const api = await start(t)
  await publish(api, 0, 1, 2)
  const response = await read(api, 'query', { query: "FROM 'x' SELECT 6 / _", order: 'asc' })
  const lines = (await response.text()).trimEnd().split('\n')
  const types = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    types.map(({ type, severity, payload }) => payload ?? severity ?? type),
    ['warning', 6, 3, 'offsets'],
  )
})

/** A payload of maximum length: queries that copy it exceed the limit for results. */
const longestPayload = 'x'.repeat(format.payloadBytes - 2)

test('a result that is too long becomes a warning, and the last result before it is marked as caught up', async (t) => {
  const api = await start(t)
  await publish(api, 'short', longestPayload)
  const query = `FROM 'x' SELECT [${Array(5).fill('_').join()}]`
  const lines = new Lines(await read(api, 'subscribe_monotonic', { query, session: 's' }))
  const { type, payload, caughtUp } = JSON.parse(await lines.next())
  assert.deepEqual({ type, payload, caughtUp }, { type: 'event', payload: Array(5).fill('short'), caughtUp: true })
  const message = 'the text of the value is too long (limit resultLength: 33554432)'
  assert.deepEqual(JSON.parse(await lines.next()), { type: 'diagnostic', severity: 'warning', message })
  assert.equal(JSON.parse(await lines.next())['type'], 'offsets')
  await lines.cancel()
})

test('an error ends a subscription of either kind, with the error object in the last line', async (t) => {
  const api = await start(t)
  await publish(api, 'short', longestPayload)
  const texts = Array.from({ length: 12 }, (_, i) => `LET text${i} := \`{_}\``)
  const query = `FEATURES(interpolation) FROM 'x' ${texts.join(' ')} SELECT [_, _, _]`
  for (const endpoint of ['subscribe', 'subscribe_monotonic']) {
    const response = await read(api, endpoint, { query, session: 's' })
    const lines = (await response.text()).trimEnd().split('\n')
    const message = 'the query holds too much at once (limit heldBytes: 134217728)'
    assert.deepEqual(
      lines.slice(1).map((line) => JSON.parse(line) as unknown),
      [
        { type: 'diagnostic', severity: 'error', message },
        { code: 'ERR_BAD_REQUEST', message: `Invalid request. ${message}` },
      ],
    )
  }
})

test('a failed aggregate warns once, also when events without a match are published', async (t) => {
  const api = await start(t)
  const lines = new Lines(await read(api, 'subscribe', { query: "FEATURES(aggregate) FROM 'x' AGGREGATE SUM(_)" }))
  const next = async () => {
    const { type, severity, payload } = JSON.parse(await lines.next()) as Record<string, unknown>
    return payload ?? severity ?? type
  }
  assert.deepEqual([await next(), await next()], ['warning', 'offsets'])
  for (let i = 0; i < 3; i++) await api.publish('{"data":[{"tags":["y"],"payload":1}]}')
  await publish(api, 1)
  assert.equal(await next(), 1)
  await lines.cancel()
})

test('the number of open streams of all clients is limited', async (t) => {
  const api = await start(t)
  const open: Lines[] = []
  for (let i = 0; i < limits.openQueries; i++) open.push(new Lines(await read(api, 'subscribe', { query: "FROM 'x'" })))
  const refused = await read(api, 'query', { query: "FROM 'x'", order: 'asc' })
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /There are 1024 open streams, which is the limit\./)
  await open[0]?.cancel()
  await api.reading(0).ended
  assert.equal((await read(api, 'query', { query: "FROM 'x'", order: 'asc' })).status, 200)
  await Promise.all(open.map((lines) => lines.cancel()))
})
