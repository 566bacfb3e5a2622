import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { peerIdOf } from '../../../src/identity/index.ts'
import { DialFailure } from '../../../src/swarm/host/index.ts'
import { eventually, TestHost } from './hosts.ts'

const never = new AbortController().signal
const otherKey = Buffer.alloc(32, 0x33).toString('base64')

async function failureOf(dial: Promise<unknown>): Promise<DialFailure> {
  const error = await dial.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof DialFailure, `a DialFailure instead of ${error}`)
  return error
}

test('a dial to a closed port is refused', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const { address } = b
  await b.host.stop()
  const failure = await failureOf(a.host.dial(b.name, address, never))
  assert.equal(failure.reason, 'connection refused: no node listens at this address')
  assert.equal(failure.isAnotherNode, false)
})

test('nodes with different swarm keys never connect, and both sides are told why at once', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t, { swarmKey: otherKey })
  const began = performance.now()
  // Decrypted with the wrong key every byte is random: a single try would not show every case.
  for (let i = 0; i < 20; i++) {
    const { reason } = await failureOf(a.host.dial(b.name, b.address, never))
    assert.match(reason, /another swarm key/)
  }
  assert.ok(performance.now() - began < 20_000)
  assert.equal(b.failures.length, 20)
  for (const { reason } of b.failures) assert.equal(reason, 'the other side has another swarm key')
  assert.deepEqual([a.sessions.length, b.sessions.length], [0, 0])
})

test('a node without a swarm key is refused', async (t) => {
  const a = await TestHost.start(t)
  const [, port] = /tcp\/(\d+)/.exec(a.address) ?? []
  const socket = connect({ host: '127.0.0.1', port: Number(port) })
  socket.on('error', () => {})
  socket.write('\x13/multistream/1.0.0\n\x07/noise\n', 'latin1')
  await eventually(() => a.failures.length === 1)
  assert.equal(a.failures[0]?.reason, 'the other side uses no swarm key')
  socket.destroy()
})

test('a server that is no node fails the dial in words', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const { port } = server.address() as { port: number }
  const { reason } = await failureOf(a.host.dial(b.name, `/ip4/127.0.0.1/tcp/${port}`, never))
  assert.match(reason, /swarm key/)
  for (const socket of sockets) socket.destroy()
})

test('a silent server is given up when the caller aborts', async (t) => {
  const server = createServer((socket) => void socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const { port } = server.address() as { port: number }
  const controller = new AbortController()
  const dialled = once(server, 'connection')
  const failed = failureOf(a.host.dial(b.name, `/ip4/127.0.0.1/tcp/${port}`, controller.signal))
  await dialled
  controller.abort()
  assert.match((await failed).reason, /in time|time-out/)
})

test('another node at the address is named', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const c = await TestHost.start(t)
  const failure = await failureOf(a.host.dial(c.name, b.address, never))
  assert.equal(failure.reason, `another node has this address: ${peerIdOf(b.key.publicKey)}`)
  assert.equal(failure.other, b.name)
  assert.equal(failure.isAnotherNode, true)
  assert.deepEqual([a.sessions.length, b.sessions.length], [0, 0])
})

test('an own address is recognised', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  const failure = await failureOf(a.host.dial(b.name, a.address, never))
  assert.equal(failure.reason, 'this is an address of this node itself')
  assert.deepEqual([failure.isAnotherNode, failure.other], [true, a.name])
})

test('nodes of different topics stay apart, and both are told the other topic', async (t) => {
  const a = await TestHost.start(t, { topic: 'hall-1' })
  const b = await TestHost.start(t, { topic: 'hall-2' })
  const failure = await failureOf(a.host.dial(b.name, b.address, never))
  assert.equal(failure.reason, "the node is in the topic 'hall-2', this node in 'hall-1'")
  // It is the right node, and its topic may be changed.
  assert.equal(failure.isAnotherNode, false)
  await eventually(() => b.failures.length === 1)
  assert.equal(b.failures[0]?.reason, "the node is in the topic 'hall-1', this node in 'hall-2'")
  assert.deepEqual([a.sessions.length, b.sessions.length], [0, 0])
})

test('a peer that is not accepted gets no session', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t, { accepts: (peer) => peer !== a.name })
  await failureOf(a.host.dial(b.name, b.address, never))
  assert.deepEqual([a.sessions.length, b.sessions.length], [0, 0])
})

test('addresses that cannot be dialled fail in words', async (t) => {
  const a = await TestHost.start(t)
  const b = await TestHost.start(t)
  for (const [address, expected] of [
    ['nonsense', /is not a multiaddress/],
    ['/ip4/127.0.0.1/udp/4001', /only TCP is supported/],
  ] as const) {
    const failure = await failureOf(a.host.dial(b.name, address, never))
    assert.match(failure.reason, expected)
    assert.equal(failure.isAnotherNode, false)
  }
})

test('a port that is taken is an error that names it', async (t) => {
  const a = await TestHost.start(t)
  const port = Number(/tcp\/(\d+)/.exec(a.address)?.[1])
  const listen = [{ host: '127.0.0.1', port }]
  await assert.rejects(TestHost.start(t, { listen }), { code: 'ERR_PORT_COLLISION' })
})
