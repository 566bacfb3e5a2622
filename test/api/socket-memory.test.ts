import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Connections } from '../../src/api/index.ts'
import { limits } from '../../src/base/limits.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { silent, sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { clientFrame } from '../support/frames.ts'
import { SlowStore } from '../support/slow-store.ts'
import { TestSocket } from '../support/socket.ts'

const mib = 1024 * 1024

function accounted(limitBytes: number) {
  const account = MemoryAccount.create(limitBytes)
  const evicted: string[] = []
  const connections = new Connections({
    ...systemRuntime,
    account,
    log: silent,
    evicted: (reason) => evicted.push(reason),
    auditMs: 10,
    stalledMs: 500,
  })
  return { account, evicted, connections }
}

/** A raw WebSocket connection, for hand-made frames. Collects what it receives unless it is paused. */
async function rawSocket(t: TestContext, { url, token }: TestApi): Promise<{ socket: Socket; received: () => Buffer }> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  t.after(() => socket.destroy())
  socket.write(
    `GET /api/v2/events?${token} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  assert.match(head.toString(), /^HTTP\/1\.1 101 /)
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  return { socket, received: () => Buffer.concat(received) }
}

/** Waits until a socket is closed, also by a reset. */
async function closed(socket: Socket): Promise<void> {
  await until(() => socket.destroyed)
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('an unfinished message above the memory limit closes its socket with 1013, and others are served', async (t) => {
  const { account, connections } = accounted(64 * mib)
  const api = await startApi(t, { connections })
  const other = await TestSocket.open(t, api)
  const first = await rawSocket(t, api)
  const half = clientFrame({ opcode: 1, fin: true, data: Buffer.alloc(18 * mib), told: 40 * mib })
  first.socket.write(half)
  await until(() => account.usedBytes > 36 * mib)
  const second = await rawSocket(t, api)
  second.socket.write(half)
  await closed(second.socket)
  // A close frame with the code 1013, Try Again Later.
  const response = second.received()
  assert.equal(response[0], 0x88)
  assert.equal(response.readUInt16BE(2), 1013)
  assert.match(response.toString('utf8', 4), /The memory for clients is used up/)
  other.request(1, 'offsets', null)
  await other.answered(1)
  first.socket.destroy()
  await until(() => account.usedBytes < mib)
})

test('a fragmented message is charged over all of its fragments', async (t) => {
  const { account, connections } = accounted(64 * mib)
  const api = await startApi(t, { connections })
  const { socket } = await rawSocket(t, api)
  for (let i = 0; i < 8; i++)
    socket.write(clientFrame({ opcode: i === 0 ? 1 : 0, fin: false, data: Buffer.alloc(mib) }))
  await until(() => account.usedBytes > 16 * mib)
})

test('a stalled message closes its connection after the timeout', async (t) => {
  const { evicted, connections } = accounted(64 * mib)
  const api = await startApi(t, { connections })
  const { socket, received } = await rawSocket(t, api)
  socket.write(clientFrame({ opcode: 1, fin: true, data: Buffer.alloc(1000), told: mib }))
  await until(() => evicted.length === 1)
  await closed(socket)
  assert.equal(received().readUInt16BE(2), 1013)
})

test('pings of a slow client use no memory', async (t) => {
  const { account, connections } = accounted(64 * mib)
  const api = await startApi(t, { connections })
  const { socket, received } = await rawSocket(t, api)
  socket.pause()
  const pings = Buffer.concat(
    Array.from({ length: 1000 }, () => clientFrame({ opcode: 9, fin: true, data: Buffer.alloc(125) })),
  )
  const rounds = 300
  for (let i = 0; i < rounds; i++)
    await new Promise<void>((resolve) => {
      socket.write(pings, () => resolve())
    })
  assert.ok(account.usedBytes < mib, `${account.usedBytes} bytes are charged`)
  socket.write(clientFrame({ opcode: 9, fin: true, data: Buffer.from('last') }))
  socket.resume()
  await until(() => received().subarray(-4).toString() === 'last')
  assert.ok(received().length < rounds * pings.length)
})

test('concurrent requests on a socket are limited, also when they arrive in one packet', async (t) => {
  const { account, connections } = accounted(64 * mib)
  const slow = new SlowStore()
  const api = await startApi(t, { connections, store: slow.store })
  const { socket, received } = await rawSocket(t, api)
  const publish = '{"type":"request","serviceId":"publish","requestId":1,"payload":{"data":[{"tags":[],"payload":1}]}}'
  const count = 4 * limits.concurrentSocketRequests
  const frames = Array.from({ length: count }, (_, i) =>
    clientFrame({ opcode: 1, fin: true, data: Buffer.from(publish.replace('"requestId":1', `"requestId":${i}`)) }),
  )
  socket.write(Buffer.concat(frames))
  await until(() => slow.waiting.length >= limits.concurrentSocketRequests)
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  assert.equal(slow.waiting.length, limits.concurrentSocketRequests)
  assert.ok(account.usedBytes > limits.concurrentSocketRequests * limits.socketRequestBytes)
  await until(() => {
    slow.release()
    return received().toString('latin1').split('"complete"').length === count + 1
  })
  assert.ok(account.usedBytes < mib)
})

test('a message above the memory limit closes the socket with 1013, and a smaller one is served', async (t) => {
  const { account, connections } = accounted(32 * mib)
  const api = await startApi(t, { connections, store: await sqliteStore(t, { clientMemory: account.memory }) })
  const socket = await TestSocket.open(t, api)
  const payload = (bytes: number) => ({ data: [{ tags: [], payload: 'x'.repeat(bytes) }] })
  socket.request(1, 'publish', payload(5 * mib))
  assert.equal((await socket.answered(1))[0]?.type, 'next')
  const held = await rawSocket(t, api)
  held.socket.write(clientFrame({ opcode: 1, fin: true, data: Buffer.alloc(9 * mib), told: 13 * mib }))
  await until(() => account.usedBytes > 18 * mib)
  socket.request(2, 'publish', payload(10_000))
  assert.equal((await socket.answered(2))[0]?.type, 'next')
  socket.request(3, 'publish', payload(5 * mib))
  assert.equal(await socket.closed, 1013)
})
