import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { Connection, Libp2p, MessageStream, Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { limits } from '../../../src/base/limits.ts'
import { type Runtime, systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { lengthPrefix } from '../../../src/swarm/host/frames.ts'
import { boundedYamux } from '../../../src/swarm/host/muxer.ts'
import { encodeOpening } from '../../../src/swarm/host/opening.ts'
import { ciphersInUse } from '../../../src/swarm/host/protected-connection.ts'
import { collectGarbage } from '../../support/collect-garbage.ts'
import type { TestScope } from '../../support/folder.ts'
import { eventually, type Received, TestHost } from './hosts.ts'
import { frameConnection, rawPeer, yamuxHeader } from './raw-peer.ts'

/** Time that passes a hundred times as fast. */
const fastRuntime: Runtime = {
  ...systemRuntime,
  clock: { ...systemRuntime.clock, steadyMs: () => systemRuntime.clock.steadyMs() * 100 },
  timers: {
    ...systemRuntime.timers,
    setTimeout: (work, ms) => systemRuntime.timers.setTimeout(work, ms / 100),
    setInterval: (work, ms) => systemRuntime.timers.setInterval(work, ms / 100),
  },
}

const channels = ['live', 'sync', 'blocks'] as const

interface RawSession {
  readonly connection: Connection
  /** The bytes below yamux. */
  readonly below: MessageStream
  readonly streams: Record<(typeof channels)[number], Stream>
  readonly at: Received
}

function framed(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** A peer with yamux, and the bytes below it as soon as it is connected. */
async function frameWriter(t: TestScope): Promise<{ node: Libp2p; below: () => MessageStream }> {
  let below: MessageStream | undefined
  const factory = boundedYamux()()
  const node = await rawPeer(t, () => ({
    protocol: factory.protocol,
    createStreamMuxer(connection) {
      below = connection
      return factory.createStreamMuxer(connection)
    },
  }))
  const connected = (): MessageStream => {
    assert.ok(below !== undefined, 'the peer is connected')
    return below
  }
  return { node, below: connected }
}

/** A session with a host whose streams the test writes to directly. */
async function rawSession(t: TestScope, host: TestHost): Promise<RawSession> {
  const { node, below } = await frameWriter(t)
  const connection = await node.dial(multiaddr(host.address))
  const open = (channel: string) => connection.newStream(`/shoal/${channel}/1`)
  const streams = { live: await open('live'), sync: await open('sync'), blocks: await open('blocks') }
  for (const stream of Object.values(streams)) stream.addEventListener('message', () => {})
  streams.live.send(framed(encodeOpening({ topic: 'test-topic' })))
  const name = Buffer.from(node.peerId.toCID().multihash.digest.subarray(4)).toString('latin1')
  return {
    connection,
    below: below(),
    streams,
    at: await eventually(() => host.sessions.find(({ session }) => session.peer === name)),
  }
}

/** Another peer can still use the host. */
async function assertServes(t: TestScope, host: TestHost): Promise<void> {
  const other = await TestHost.start(t)
  const [own, theirs] = await other.connect(host)
  own.session.send('live', Buffer.from('hello'))
  await eventually(() => theirs.messages.length === 1)
}

test('a yamux frame of a gigabyte is refused by its header', async (t) => {
  const host = await TestHost.start(t)
  const { connection, bytes } = await frameConnection(t, host.address)
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  bytes.send(yamuxHeader(0, 1, 1, 2 ** 30))
  const piece = Buffer.alloc(64 * 1024)
  for (let i = 0; i < 512 && bytes.status === 'open'; i++) {
    bytes.send(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => connection.status !== 'open')
  collectGarbage()
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024)
  await assertServes(t, host)
})

test('ten thousand streams close the connection', async (t) => {
  const host = await TestHost.start(t)
  const { connection, bytes } = await frameConnection(t, host.address)
  for (let i = 0; i < 10_000 && bytes.status === 'open'; i++) {
    bytes.send(yamuxHeader(1, 1, 2 * i + 1, 0))
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => connection.status !== 'open')
  await assertServes(t, host)
})

test('bytes that are no yamux frames close the connection', async (t) => {
  const host = await TestHost.start(t)
  for (const junk of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), yamuxHeader(9, 0, 1, 5), yamuxHeader(2, 2, 0, 77)]) {
    const { connection, bytes } = await frameConnection(t, host.address)
    bytes.send(junk)
    await eventually(() => connection.status !== 'open')
  }
  await assertServes(t, host)
})

for (const [name, bytes, problem] of [
  ['a message of a gigabyte', Buffer.from('8080808004', 'hex'), /28 bits/],
  ['a message above the limit of its channel', Buffer.from('8080800d', 'hex'), /are allowed/],
  ['a length without end', Buffer.alloc(100, 0x80), /28 bits/],
] as const)
  test(`${name} closes the session with its reason`, async (t) => {
    const host = await TestHost.start(t)
    const { streams, at } = await rawSession(t, host)
    streams.sync.send(bytes)
    await eventually(() => at.closed !== undefined)
    assert.deepEqual(at.closed?.end, { by: 'this node', code: 'malformedMessage' })
    assert.match(at.closed?.reason ?? '', problem)
    await assertServes(t, host)
  })

for (const [name, frames, problem] of [
  ['a yamux frame of a gigabyte', [yamuxHeader(0, 0, 1, 2 ** 30)], /1073741824 bytes/],
  ['an unknown kind of yamux frame', [yamuxHeader(9, 0, 1, 5)], /malformed frame of the connection/],
  [
    'too many streams',
    Array.from({ length: limits.streamsOfConnection + 1 }, (_, i) => yamuxHeader(1, 1, 2 * i + 101, 0)),
    /more than 64 streams/,
  ],
] as const)
  test(`${name} within a session is the fault of the peer`, async (t) => {
    const host = await TestHost.start(t)
    const { below, at } = await rawSession(t, host)
    for (const frame of frames) below.send(frame)
    await eventually(() => at.closed !== undefined)
    assert.deepEqual(at.closed?.end, { by: 'this node', code: 'malformedMessage' })
    assert.match(at.closed?.reason ?? '', problem)
  })

for (const [name, opening] of [
  ['whose first message is too long', lengthPrefix(limits.openingMessageBytes + 1)],
  ['whose first message is malformed', framed(Buffer.of(0))],
] as const)
  test(`a peer ${name} is reported, to be kept out`, async (t) => {
    const reported: string[] = []
    const host = await TestHost.start(t, { onMisbehaviour: (peer) => reported.push(peer) })
    const node = await rawPeer(t)
    const connection = await node.dial(multiaddr(host.address))
    const live = await connection.newStream('/shoal/live/1')
    live.send(opening)
    await eventually(() => host.failures.length === 1)
    assert.match(host.failures[0]?.reason ?? '', /malformed/)
    assert.deepEqual(reported, [Buffer.from(node.peerId.toCID().multihash.digest.subarray(4)).toString('latin1')])
  })

test('a message that is not completed in time closes the session', async (t) => {
  const host = await TestHost.start(t, { runtime: fastRuntime })
  const { streams, at } = await rawSession(t, host)
  streams.blocks.send(Buffer.concat([Buffer.from('808008', 'hex'), Buffer.alloc(1000)]))
  await eventually(() => at.closed !== undefined)
  assert.deepEqual(at.closed?.end, { by: 'this node', code: 'stalled' })
})

test('a peer that does not read is closed when nothing moves', async (t) => {
  const host = await TestHost.start(t, { runtime: fastRuntime })
  const { streams, at } = await rawSession(t, host)
  streams.sync.pause()
  at.session.send('sync', Buffer.alloc(4 * 1024 * 1024))
  await eventually(() => at.closed !== undefined)
  assert.deepEqual(at.closed?.end, { by: 'this node', code: 'tooSlow' })
})

test('a connection without a nonce is closed in time, and its ciphers are released', async (t) => {
  const host = await TestHost.start(t, { runtime: fastRuntime })
  const port = Number(/tcp\/(\d+)/.exec(host.address)?.[1])
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  socket.write(Buffer.alloc(23))
  await eventually(() => host.failures.length === 1)
  assert.equal(host.failures[0]?.reason, 'the other side did not complete the exchange of the swarm key in time')
  await eventually(() => ciphersInUse.count === 0)
})

test('a connection without streams is closed in time', async (t) => {
  const host = await TestHost.start(t, { runtime: fastRuntime })
  const node = await rawPeer(t)
  const connection = await node.dial(multiaddr(host.address))
  await eventually(() => connection.status !== 'open')
  assert.deepEqual(
    host.failures.map(({ reason }) => reason),
    ['the node did not open its streams in time'],
  )
  assert.equal(host.sessions.length, 0)
})

test('a second stream of a channel is refused and the session goes on', async (t) => {
  const host = await TestHost.start(t)
  const { connection, streams, at } = await rawSession(t, host)
  const second = await connection.newStream('/shoal/live/1')
  await eventually(() => second.status !== 'open')
  streams.live.send(framed(Buffer.from('first')))
  await eventually(() => at.messages.length === 1)
  assert.equal(at.messages[0]?.bytes.toString(), 'first')
})

for (const [name, opening] of [
  ['an empty topic', Buffer.of(0)],
  ['a topic that is too long', Buffer.concat([Buffer.from('f401', 'hex'), Buffer.alloc(100)])],
  ['a topic that is not UTF-8', Buffer.of(2, 0xff, 0xff)],
] as const)
  test(`${name} gets no session`, async (t) => {
    const host = await TestHost.start(t)
    const node = await rawPeer(t)
    const connection = await node.dial(multiaddr(host.address))
    const live = await connection.newStream('/shoal/live/1')
    live.send(framed(opening))
    await eventually(() => host.failures.length === 1)
    assert.equal(host.sessions.length, 0)
    await eventually(() => connection.status !== 'open')
  })

test('a byte per yamux frame takes little memory, and arrives', async (t) => {
  const host = await TestHost.start(t)
  const { streams, at } = await rawSession(t, host)
  at.session.pause(true)
  collectGarbage()
  const before = process.memoryUsage()
  const size = 20_000
  streams.blocks.send(lengthPrefix(size))
  for (let i = 0; i < size; i++) {
    streams.blocks.send(Buffer.of(1))
    if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  assert.ok(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers < 16 * 1024 * 1024)
  at.session.pause(false)
  await eventually(() => at.messages[0]?.bytes.length === size)
})

test('when incomplete messages take too much memory, the largest one closes its session', async (t) => {
  const host = await TestHost.start(t)
  const greedy = [await rawSession(t, host), await rawSession(t, host), await rawSession(t, host)]
  const other = await TestHost.start(t)
  const [own] = await other.connect(host)
  const prefix = lengthPrefix(limits.syncMessageBytes)
  const piece = Buffer.alloc(128 * 1024)
  const flood = async ({ streams: { sync } }: RawSession): Promise<void> => {
    sync.send(prefix)
    for (
      let sent = prefix.length;
      sent < limits.syncMessageBytes - piece.length && sync.status === 'open';
      sent += piece.length
    ) {
      sync.send(piece)
      await eventually(() => sync.writeBufferLength === 0 || sync.status !== 'open')
    }
  }
  await Promise.all(greedy.map(flood))
  await eventually(() => greedy.some(({ at }) => at.closed !== undefined))
  const closed = greedy.filter(({ at }) => at.closed !== undefined)
  for (const { at } of closed) assert.equal(at.closed?.end.code, 'tooMuchUnread')
  assert.ok(closed.length < 3)
  own.session.send('live', Buffer.from('hello'))
  await eventually(() => host.sessions.find(({ messages }) => messages.length === 1))
  assert.equal(own.closed, undefined)
})
