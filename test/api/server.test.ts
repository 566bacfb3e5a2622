import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { Call } from '../../src/api/call.ts'
import type { HttpResponse } from '../../src/api/response.ts'
import type { Route } from '../../src/api/router.ts'
import { healthRoutes } from '../../src/api/routes/health.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { Health } from '../../src/observability/health.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { exchange, served } from '../support/api.ts'

const text = (body: string): HttpResponse => ({ status: 200, headers: {}, body })
const health = healthRoutes(new Health([]), { alive: ['/healthz'], ready: ['/readyz'] })

/** Responds with the length of the request body. */
const counting = (limit: number): Route => ({
  path: '/count',
  methods: {
    POST: { authenticated: false, handle: async (call: Call) => text(String((await call.body(limit)).length)) },
  },
})

const head = (length: number, more = '') =>
  `POST /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n${more}\r\n`

test('a node that is not ready reports the reasons, and is alive', async (t) => {
  const state = new Health(['API', 'Admin', 'Swarm'])
  const port = await served(t, healthRoutes(state, { alive: ['/healthz'], ready: ['/readyz'] }))
  state.set('API', 'started')
  state.set('Admin', 'failed', 'port in use')
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
  assert.equal(ready.status, 503)
  const reasons = [
    { component: 'Admin', state: 'failed', detail: 'port in use' },
    { component: 'Swarm', state: 'starting' },
  ]
  assert.deepEqual(await ready.json(), { status: 'not ready', reasons })
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
})

test('unknown paths and methods are rejected with the error object of the specification', async (t) => {
  const port = await served(t, health)
  const notFound = { code: 'ERR_NOT_FOUND', message: 'The requested resource could not be found.' }
  for (const path of ['/', '/nothing', '/toString', '/__proto__', '/healthz/x']) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.equal(response.status, 404)
    assert.deepEqual(await response.json(), notFound)
  }
  for (const method of ['POST', 'toString']) {
    const response = await exchange(port, `${method} /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    if (method === 'POST')
      assert.match(
        response,
        /405 .*^allow: GET, HEAD\r$.*"ERR_METHOD_NOT_ALLOWED","message":"Method not supported\."/ims,
      )
    else assert.match(response, /400 Bad Request/)
  }
  const get = await fetch(`http://127.0.0.1:${port}/readyz/`)
  const headed = await fetch(`http://127.0.0.1:${port}/readyz/`, { method: 'HEAD' })
  assert.equal(headed.status, 200)
  assert.equal(headed.headers.get('content-length'), String((await get.text()).length))
  assert.equal(await headed.text(), '')
  assert.ok(get.headers.get('date'))
  assert.equal(get.headers.get('server'), null)
})

test('malformed HTTP is rejected with 400, and the server continues', async (t) => {
  const port = await served(t, health)
  const malformed = [
    'rubbish\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET /\r\n\r\n\0\0',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
    'GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
  ]
  for (const bytes of malformed)
    assert.match(await exchange(port, bytes), /HTTP\/1\.1 400 Bad Request\r\n[\s\S]*"code":"ERR_BAD_REQUEST"/)
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
})

test('an exception in a handler becomes a 500 and a log line', async (t) => {
  const lines: string[] = []
  const log = new Logger(
    logOutput(textLine(false), { write: (line) => lines.push(line), flush: async () => {} }, systemClock),
    'api',
  )
  const broken = () => {
    throw new Error('broken')
  }
  const port = await served(t, [{ path: '/broken', methods: { GET: { authenticated: false, handle: broken } } }], {
    log,
  })
  const response = await fetch(`http://127.0.0.1:${port}/broken`)
  assert.equal(response.status, 500)
  assert.deepEqual(await response.json(), { code: 'ERR_INTERNAL', message: 'Internal server error.' })
  assert.ok(lines.some((line) => /ERROR api: request failed: broken/.test(line)))
})

test('a request body is read whole, chunked or not', async (t) => {
  const port = await served(t, [counting(100_000)])
  const url = `http://127.0.0.1:${port}/count`
  const chunks = async function* () {
    for (let i = 0; i < 100; i++) yield Buffer.alloc(i, 'x')
  }
  const chunked = await fetch(url, { method: 'POST', body: chunks() as never, duplex: 'half' } as RequestInit)
  assert.equal(await chunked.text(), '4950')
  assert.equal(await (await fetch(url, { method: 'POST', body: 'x'.repeat(100_000) })).text(), '100000')
  assert.equal(await (await fetch(url, { method: 'POST' })).text(), '0')
})

test('a body that is too large is rejected with 413, by its Content-Length or while it is received', async (t) => {
  const port = await served(t, [counting(1000)])
  const url = `http://127.0.0.1:${port}/count`
  const declared = await fetch(url, { method: 'POST', body: 'x'.repeat(1001) })
  assert.equal(declared.status, 413)
  assert.deepEqual(await declared.json(), {
    code: 'ERR_PAYLOAD_TOO_LARGE',
    message: 'Payload too large (1001 > 1000).',
  })
  const chunks = async function* () {
    for (let i = 0; i < 50; i++) yield Buffer.alloc(100, 'x')
  }
  const chunked = await fetch(url, { method: 'POST', body: chunks() as never, duplex: 'half' } as RequestInit)
  assert.equal(chunked.status, 413)
  assert.equal(await (await fetch(url, { method: 'POST', body: 'x' })).text(), '1')
})

test('a request body is rejected with 400 after the idle timeout', async (t) => {
  const port = await served(t, [counting(1000)], { bodyTimeoutMs: 20 })
  const response = await exchange(port, `${head(10)}half`)
  assert.match(response, /400 Bad Request[\s\S]*Idle timeout: no data of the request body for 20 ms/)
})

test('a client that disconnects while it sends its body is not logged', async (t) => {
  const lines: string[] = []
  const log = new Logger(
    logOutput(textLine(false), { write: (line) => lines.push(line), flush: async () => {} }, systemClock),
    'api',
  )
  let ended: unknown
  const handle = (call: Call) =>
    call.body(1000).then(
      () => text('all'),
      (error: unknown) => {
        ended = error
        throw error
      },
    )
  const port = await served(t, [{ path: '/count', methods: { POST: { authenticated: false, handle } } }], { log })
  const socket = connect(port, '127.0.0.1')
  socket.write(`${head(10)}half`)
  await once(socket, 'ready')
  socket.end(() => socket.destroy())
  while (ended === undefined) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((ended as Error).name, 'ClientDisconnected')
  assert.deepEqual(lines, [])
})

test('Expect: 100-continue gets 100 Continue, unless the request is rejected first', async (t) => {
  const port = await served(t, [counting(10)])
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1').on('data', (data: string) => {
    received += data
    if (received.endsWith('100 Continue\r\n\r\n')) socket.write('12345')
  })
  socket.write(head(5, 'Expect: 100-continue\r\nConnection: close\r\n'))
  await once(socket, 'close')
  assert.match(received, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*5$/)
  const refused = await exchange(port, head(11, 'Expect: 100-continue\r\n'))
  assert.match(refused, /^HTTP\/1\.1 413 /)
})

test('a streamed response applies backpressure, and is cancelled when the client disconnects', async (t) => {
  let made = 0
  let cancelled = 0
  let wake = (): void => {}
  const chunks = () => ({
    cancel: () => {
      cancelled++
      wake()
    },
    async *[Symbol.asyncIterator]() {
      while (cancelled === 0) {
        made++
        yield Buffer.alloc(64 * 1024, 'x')
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  })
  const handle = (): HttpResponse => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: chunks() })
  const port = await served(t, [{ path: '/chunks', methods: { GET: { authenticated: false, handle } } }])
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.write('GET /chunks HTTP/1.1\r\nHost: x\r\n\r\n')
  let before = -1
  while (made === 0 || made !== before) {
    before = made
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.ok(made < 1000, `${made} chunks were made for a client that does not read`)
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  socket.destroy()
  await woken
})

test('a streamed response is cancelled when the client disconnected before the first chunk', async (t) => {
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>()
  const { promise: requested, resolve: ask } = Promise.withResolvers<void>()
  const chunks = {
    cancel,
    async *[Symbol.asyncIterator]() {
      await cancelled
      yield Buffer.from('too late')
    },
  }
  const handle = async ({ response }: Call): Promise<HttpResponse> => {
    ask()
    await once(response, 'close')
    return { status: 200, headers: {}, body: chunks }
  }
  const port = await served(t, [{ path: '/slow', methods: { GET: { authenticated: false, handle } } }])
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await requested
  socket.destroy()
  await cancelled
})
