import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Call } from '../../src/api/call.ts'
import { Connections } from '../../src/api/index.ts'
import type { HttpResponse } from '../../src/api/response.ts'
import type { Route } from '../../src/api/router.ts'
import { limits } from '../../src/base/limits.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { exchange, served, silent } from '../support/api.ts'

const mib = 1024 * 1024
const text = (body: string): HttpResponse => ({ status: 200, headers: {}, body })

/** A server with a small memory account, and a route that holds its request body until it is released. */
async function start(t: TestContext, limitBytes: number, options: { stalledMs?: number; pressureMs?: number } = {}) {
  const account = MemoryAccount.create(limitBytes)
  const evicted: string[] = []
  const connections = new Connections({
    ...systemRuntime,
    account,
    log: silent,
    evicted: (reason) => evicted.push(reason),
    auditMs: 10,
    ...(options.stalledMs !== undefined && { stalledMs: options.stalledMs }),
    ...(options.pressureMs !== undefined && { stalledUnderPressureMs: options.pressureMs }),
  })
  const released: (() => void)[] = []
  const hold = async (call: Call) => {
    const { length } = await call.body(limits.bodyBytes)
    await new Promise<void>((resolve) => released.push(resolve))
    return text(String(length))
  }
  const count = async (call: Call) => text(String((await call.body(limits.bodyBytes)).length))
  const routes: Route[] = [
    { path: '/hold', methods: { POST: { authenticated: false, handle: hold } } },
    { path: '/count', methods: { POST: { authenticated: false, handle: count } } },
    { path: '/never', methods: { GET: { authenticated: false, handle: () => new Promise<HttpResponse>(() => {}) } } },
    { path: '/large', methods: { GET: { authenticated: false, handle: () => text('x'.repeat(40 * mib)) } } },
  ]
  const port = await served(t, routes, { connections })
  const url = `http://127.0.0.1:${port}`
  const post = (path: string, body: string | Buffer) => fetch(url + path, { method: 'POST', body })
  return { account, connections, evicted, released, port, url, post }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

function raw(t: TestContext, port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  return socket
}

test('a body above the memory limit is rejected with 503, small ones pass, and memory is refunded', async (t) => {
  const { account, released, post } = await start(t, 64 * mib)
  const held = post('/hold', Buffer.alloc(16 * mib))
  await until(() => released.length === 1)
  assert.ok(account.usedBytes >= 32 * mib)
  const refused = await post('/count', Buffer.alloc(10 * mib))
  assert.equal(refused.status, 503)
  assert.match(
    await refused.text(),
    /ERR_SERVICE_OVERLOADED.*The memory for clients is used up \(--memory-limit: 64 MiB\)/,
  )
  assert.equal(await (await post('/count', 'x'.repeat(10_000))).text(), '10000')
  released[0]?.()
  assert.equal(await (await held).text(), String(16 * mib))
  assert.equal(await (await post('/count', Buffer.alloc(10 * mib))).text(), String(10 * mib))
})

test('the memory share of a connection admits one request of maximum size', async (t) => {
  const { post } = await start(t, limits.clientMemory)
  assert.equal(await (await post('/count', Buffer.alloc(limits.bodyBytes))).text(), String(limits.bodyBytes))
})

test('a body in small chunks is charged with, and uses, little more than its size', async (t) => {
  const { account, port } = await start(t, 128 * mib)
  const socket = raw(t, port)
  socket.write('POST /count HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n')
  const [chunks, perWrite] = [500_000, 10_000]
  const size = chunks * limits.smallBodyChunkBytes
  const written = `${limits.smallBodyChunkBytes.toString(16)}\r\n${'x'.repeat(limits.smallBodyChunkBytes)}\r\n`.repeat(
    perWrite,
  )
  const before = process.memoryUsage()
  for (let sent = 0; sent < chunks; sent += perWrite)
    await new Promise<void>((resolve) => {
      socket.write(written, () => resolve())
    })
  await until(() => account.usedBytes >= 2 * size)
  const { heapUsed, external } = process.memoryUsage()
  // One buffer per chunk would take more than 200 MB.
  assert.ok(heapUsed + external - before.heapUsed - before.external < 120 * mib)
  assert.ok(account.usedBytes < 2 * size + mib, `${account.usedBytes} bytes are charged`)
  socket.write('0\r\n\r\n')
  const [response] = await once(socket, 'data')
  assert.match(String(response), new RegExp(`${size}$`))
})

test('too many chunks of one byte are rejected with 400, and the rest of the body is not read', async (t) => {
  const { port, post } = await start(t, 64 * mib)
  for (const head of ['POST /count', 'GET /none']) {
    const socket = raw(t, port)
    let response = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      response += chunk
    })
    socket.write(`${head} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const chunks = '1\r\nx\r\n'.repeat(1000)
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    while (!socket.destroyed) {
      const written = new Promise<void>((resolve) => socket.write(chunks, () => resolve()))
      await Promise.race([written, closed])
    }
    assert.match(
      response,
      head.startsWith('POST') ? /^HTTP\/1\.1 400 [\s\S]*16384 chunks of less than 64/ : /^HTTP\/1\.1 404 /,
    )
  }
  assert.equal((await post('/count', 'x')).status, 200)
})

test('the body of a request is refunded when the client disconnects before the response', async (t) => {
  const { account, released, port } = await start(t, 64 * mib)
  const socket = raw(t, port)
  socket.write(`POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${10 * mib}\r\n\r\n`)
  socket.write(Buffer.alloc(10 * mib))
  await until(() => released.length === 1)
  assert.ok(account.usedBytes >= 20 * mib)
  socket.destroy()
  await until(() => account.usedBytes === 0)
})

test('pipelined requests are handled in order, one at a time', async (t) => {
  const { account, connections, released, port } = await start(t, 64 * mib)
  const request = (body: string) =>
    `POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const bodies = Array.from({ length: 50 }, (_, i) => 'x'.repeat(i + 1))
  const answered = exchange(
    port,
    `${bodies.map(request).join('')}GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  )
  for (let i = 0; i < bodies.length; i++) {
    await until(() => released.length > i)
    await new Promise(setImmediate)
    assert.equal(released.length, i + 1)
    if (i === 0) assert.ok(account.usedBytes >= bodies.length * limits.pipelinedRequestBytes)
    released[i]?.()
  }
  const counts = [...(await answered).matchAll(/\r\n\r\n(\d+)HTTP/g)].map(([, count]) => Number(count))
  assert.deepEqual(
    counts,
    bodies.map(({ length }) => length),
  )
  await until(() => connections.count === 0)
  assert.equal(account.usedBytes, 0)
})

test('pipelined requests of a disconnected client are not handled', async (t) => {
  const { connections, released, port } = await start(t, 64 * mib)
  const socket = raw(t, port)
  socket.write('POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx'.repeat(20))
  await until(() => released.length === 1)
  socket.destroy()
  await until(() => connections.count === 0)
  released[0]?.()
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  assert.equal(released.length, 1)
})

test('output that a slow client does not read is charged, and a stalled connection is closed', async (t) => {
  const { account, evicted, port, post } = await start(t, 128 * mib, { stalledMs: 500 })
  const socket = raw(t, port)
  socket.pause()
  socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => account.usedBytes > mib)
  assert.equal(await (await post('/count', 'abc')).text(), '3')
  await until(() => evicted.length === 1)
  assert.deepEqual(evicted, ['stalled'])
  socket.resume()
  await once(socket, 'close')
})

test('a response that exceeds the memory limit is replaced with a 503', async (t) => {
  const { released, post, url } = await start(t, 128 * mib)
  const held = post('/hold', Buffer.alloc(30 * mib))
  await until(() => released.length === 1)
  assert.equal((await fetch(`${url}/large`)).status, 503)
  released[0]?.()
  await held
  const response = await fetch(`${url}/large`)
  assert.equal((await response.text()).length, 40 * mib)
})

test('under memory pressure, stalled bodies are rejected with 503, the largest first', async (t) => {
  const { account, evicted, port, post } = await start(t, 64 * mib, { pressureMs: 200 })
  const socket = raw(t, port)
  socket.write(`POST /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${40 * mib}\r\n\r\n`)
  socket.write(Buffer.alloc(18 * mib))
  let response = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    response += chunk
  })
  // A slow drip of single bytes does not count as progress.
  const drip = setInterval(() => socket.write('x'), 20)
  t.after(() => clearInterval(drip))
  await until(() => evicted.length === 1)
  await until(() => response.includes('ERR_SERVICE_OVERLOADED'))
  clearInterval(drip)
  assert.match(response, /^HTTP\/1\.1 503 /)
  await until(() => account.usedBytes < mib)
  assert.equal((await post('/count', Buffer.alloc(10 * mib))).status, 200)
})

test('connections alone use at most half of the memory account', async (t) => {
  const { account, connections, evicted, port, post } = await start(t, 16 * mib)
  const maximum = account.limitBytes / 2 / limits.connectionBytes
  const sockets = Array.from({ length: maximum + 10 }, () => raw(t, port))
  await until(() => evicted.length >= 10)
  assert.equal(connections.count, maximum)
  for (const socket of sockets.slice(0, 5)) socket.destroy()
  await until(() => connections.count <= maximum - 5)
  assert.equal((await post('/count', 'x')).status, 200)
})

test('an unfinished request head is charged', async (t) => {
  const { account, port } = await start(t, 16 * mib)
  const socket = raw(t, port)
  socket.write(`GET /none HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(50_000)}`)
  await until(() => account.usedBytes >= limits.connectionBytes + 50_000)
  socket.write('\r\n\r\n')
  await once(socket, 'data')
  await until(() => account.usedBytes === limits.connectionBytes)
})

test('a request body that no handler reads is drained', async (t) => {
  const { port, account } = await start(t, 16 * mib)
  const socket = raw(t, port)
  socket.write(`GET /never HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${30 * mib}\r\n\r\n`)
  await new Promise<void>((resolve) => {
    socket.write(Buffer.alloc(30 * mib), () => resolve())
  })
  assert.ok(account.usedBytes < mib)
})
