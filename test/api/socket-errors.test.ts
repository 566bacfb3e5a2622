import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { limits } from '../../src/base/limits.ts'
import { eventsIn, exchange, sqliteStore, startApi } from '../support/api.ts'
import { SlowStore } from '../support/slow-store.ts'
import { TestSocket } from '../support/socket.ts'

test('a malformed payload is rejected as badRequest, and nothing is stored', async (t) => {
  const store = await sqliteStore(t)
  const socket = await TestSocket.open(t, await startApi(t, { store }))
  const before = await eventsIn(store)
  const requests: readonly (readonly [service: string, payload: unknown, message: RegExp])[] = [
    ['offsets', {}, /expected null/],
    ['publish', null, /invalid type: null/],
    ['publish', {}, /missing field `data`/],
    ['publish', { data: [{ tags: [] }] }, /missing field `payload`/],
    ['publish', { data: [{ tags: [''], payload: 1 }] }, /expected non-empty string/],
    [
      'publish',
      {
        data: [
          { tags: ['good'], payload: 1 },
          { tags: 'bad', payload: 1 },
        ],
      },
      /invalid type: string/,
    ],
    ['query', { query: "FROM 'a'" }, /missing field `order`/],
    ['query', { query: "FROM 'a'", order: 'up' }, /unknown variant `up`/],
    ['query', { query: "FROM 'a'", order: 'asc', lowerBound: { nonsense: 1 } }, /StreamId/],
    [
      'query',
      { query: "FROM 'a'", order: 'asc', more: Array(limits.requestValues).fill({}) },
      /^more than 100000 values/,
    ],
    ['subscribe', { query: 7 }, /invalid type: number/],
    ['subscribe_monotonic', { query: "FROM 'a'" }, /missing field `session`/],
  ]
  for (const [i, [service, payload, message]] of requests.entries()) {
    socket.request(i, service, payload)
    const [error, complete] = [await socket.take(), await socket.take()]
    assert.equal(error.type, 'error')
    assert.equal(error.kind?.['type'], 'badRequest', service)
    assert.match(String(error.kind?.['message']), message)
    assert.ok(!String(error.kind?.['message']).startsWith('Invalid request.'))
    assert.deepEqual(complete, { type: 'complete', requestId: i })
  }
  assert.deepEqual(await eventsIn(store), before)
})

test('a query that cannot be run is rejected as serviceError, with the message of the specification', async (t) => {
  const socket = await TestSocket.open(t, await startApi(t, { store: await sqliteStore(t) }))
  const requests: readonly (readonly [service: string, payload: object, value: RegExp])[] = [
    ['query', { query: 'FROM x', order: 'asc' }, /^Invalid request\. {2}--> 1:6\n/],
    [
      'query',
      { query: "FROM 'a' AGGREGATE SUM(_)", order: 'asc' },
      /^The query uses beta features that are not enabled: aggregate\.$/,
    ],
    [
      'subscribe_monotonic',
      { query: "FROM 'a' LIMIT 1", session: '' },
      /^Feature\(s\) `limit` are not supported on endpoint SubscribeMonotonic\.$/,
    ],
    [
      'subscribe_monotonic',
      { query: "FROM 'a'", session: '', lowerBound: { [`${'.'.repeat(43)}-0`]: 7 } },
      /^Query bounds out of range: /,
    ],
  ]
  for (const [i, [service, payload, value]] of requests.entries()) {
    socket.request(i, service, payload)
    const [error, complete] = [await socket.take(), await socket.take()]
    assert.equal(error.kind?.['type'], 'serviceError', service)
    assert.match(String(error.kind?.['value']), value)
    assert.equal(complete.type, 'complete')
  }
})

test('an error in a running query is a diagnostic, followed by complete', async (t) => {
  const socket = await TestSocket.open(t, await startApi(t, { store: await sqliteStore(t) }))
  socket.request(1, 'query', { query: "FROM 'a'", order: 'asc', upperBound: { [`${'.'.repeat(43)}-0`]: 7 } })
  const message = 'Query bounds out of range: upper bound must be within the known present.'
  assert.deepEqual(await socket.answered(1), [
    { type: 'next', requestId: 1, payload: [{ type: 'diagnostic', severity: 'error', message }] },
    { type: 'complete', requestId: 1 },
  ])
})

test('a publish above the queue limit is rejected with the overload message of the protocol', async (t) => {
  const slow = new SlowStore()
  const api = await startApi(t, { store: slow.store })
  const data = [{ tags: [], payload: 0 }]
  const [first] = await Promise.all(
    // One more than a socket may have pending.
    Array.from({ length: limits.queuedPublishes / limits.concurrentSocketRequests }, async () => {
      const socket = await TestSocket.open(t, api)
      for (let id = 0; id <= limits.concurrentSocketRequests; id++) socket.request(id, 'publish', { data })
      return socket
    }),
  )
  while (slow.waiting.length < limits.queuedPublishes) await new Promise((resolve) => setImmediate(resolve))
  const last = await TestSocket.open(t, api)
  last.request(7, 'publish', { data })
  assert.deepEqual(await last.take(), {
    type: 'error',
    requestId: 7,
    kind: { type: 'serviceError', value: 'Channel towards event store is overloaded.' },
  })
  slow.release()
  assert.equal((await first?.answered(0))?.length, 2)
})

test('the number of open streams per socket is limited, and ended streams do not count', async (t) => {
  const api = await startApi(t, { store: await sqliteStore(t) })
  const socket = await TestSocket.open(t, api)
  for (let id = 0; id < limits.openQueriesPerSocket; id++) {
    socket.request(id, 'subscribe', { query: "FROM 'x'" })
    await socket.take()
  }
  socket.request(200, 'subscribe', { query: "FROM 'x'" })
  const [error] = await socket.answered(200)
  assert.deepEqual(error?.kind, {
    type: 'serviceError',
    value: 'There are 128 open streams on this WebSocket, which is the limit.',
  })
  const other = await TestSocket.open(t, api)
  other.request(1, 'query', { query: "FROM 'x'", order: 'asc' })
  assert.equal((await other.answered(1))[0]?.type, 'next')
  socket.cancel(0)
  socket.request(201, 'query', { query: "FROM 'x'", order: 'asc' })
  assert.equal((await socket.answered(201))[0]?.type, 'next')
})

test('an upgrade request to h2c is handled as HTTP/1.1, body included', async (t) => {
  const { url, token } = await startApi(t, { store: await sqliteStore(t) })
  const port = Number(new URL(url).port)
  const offer = 'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\n'
  const ask = (line: string, body = '') =>
    exchange(port, `${line} HTTP/1.1\r\nHost: localhost\r\n${offer}Content-Length: ${body.length}\r\n\r\n${body}`)
  assert.match(await ask('GET /api/v2/node/id'), /^HTTP\/1\.1 200 OK\r\n/)
  const body = JSON.stringify({ data: [{ tags: ['a'], payload: 1 }] })
  assert.match(await ask(`POST /api/v2/events/publish?access_token=${token}`, body), /200 OK.*"offset":4,/s)
  assert.match(await ask(`GET /api/v2/events?${token}`), /400 Bad Request.*`Upgrade: websocket` is missing/s)
})

test('a WebSocket upgrade from a disallowed origin is rejected with 403', async (t) => {
  const origins = { good: 'https://good.example', evil: 'https://evil.example' }
  const { url, token } = await startApi(t, { store: await sqliteStore(t), corsOrigins: [origins.good] })
  const opened = async (origin: string) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v2/events?${token}`, { origin })
    t.after(() => socket.terminate())
    return await new Promise((resolve) => {
      socket.once('open', () => resolve('open')).once('error', ({ message }) => resolve(message))
    })
  }
  assert.equal(await opened(origins.good), 'open')
  assert.equal(await opened(url), 'open')
  assert.equal(await opened(origins.evil), 'Unexpected server response: 403')
})

test('a WebSocket upgrade without a valid token is rejected with 401', async (t) => {
  const { url, token } = await startApi(t, { store: await sqliteStore(t) })
  const port = Number(new URL(url).port)
  const upgrade = async (path: string, headers = '') => {
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13'
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${key}\r\n`
    const response = await exchange(port, `${head}${headers}\r\n`)
    return [Number(response.slice(9, 12)), /"code":"(\w+)"/.exec(response)?.[1]]
  }
  const path = '/api/v2/events'
  assert.deepEqual(await upgrade(path, `Authorization: Bearer ${token}\r\n`), [401, 'ERR_MISSING_TOKEN_PARAM'])
  assert.deepEqual(await upgrade(`${path}?rubbish!`), [401, 'ERR_TOKEN_INVALID'])
  assert.deepEqual(await upgrade(`${path}?${token}&foo=bar`), [401, 'ERR_TOKEN_INVALID'])
  assert.deepEqual(await upgrade(`${path}/more?${token}`), [404, 'ERR_NOT_FOUND'])
  for (const query of [token, encodeURIComponent(token), `access_token=${token}`, `foo=bar&access_token=${token}`]) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}/?${query}`)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.terminate()
  }
})
