import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { Logger, logOutput, textLine } from '../../../src/logging/index.ts'
import { MalformedBytes } from '../../../src/protocol/index.ts'
import { decodeMessage, encodeMessage } from '../../../src/swarm/index.ts'
import { Dialler } from '../../../src/swarm/peers/index.ts'
import type { ConnectionEvents } from '../../../src/swarm/thread/connection-events.ts'
import { Connections } from '../../../src/swarm/thread/connections.ts'
import type { Message } from '../../../src/sync/index.ts'
import * as fc from '../../support/property.ts'
import { type VirtualRuntime, virtualRuntime } from '../../support/virtual-runtime.ts'
import { type FakeHost, FakeNetwork, type FakeSession } from './fake-hosts.ts'

const hello: Message = { is: 'hello', version: 1, features: [], required: [], time: 1 }
const ping: Message = { is: 'ping', id: 7 }
const wantOwn: Message = { is: 'want-own' }

/** A node with connections, that notes what it is told. */
class Peer implements ConnectionEvents {
  readonly name: string
  readonly address: string
  readonly dialler: Dialler
  readonly connections: Connections
  readonly host: FakeHost
  readonly sessions: FakeSession[] = []
  readonly events: string[] = []
  readonly log: string[] = []

  constructor(network: FakeNetwork, runtime: VirtualRuntime, letter: string) {
    this.name = letter.repeat(32)
    this.address = `/ip4/10.0.0.${letter.charCodeAt(0)}/tcp/4001`
    const { clock } = runtime
    const sink = { write: (line: string) => void this.log.push(line), flush: async () => {} }
    this.dialler = new Dialler({ self: this.name, random: () => 0.5 }, clock.steadyMs())
    this.connections = new Connections({
      runtime,
      log: new Logger(logOutput(textLine(false), sink, clock), 'swarm'),
      dialler: this.dialler,
      areConnected: () => true,
      changed: () => {},
    })
    this.connections.events = this
    this.host = network.host(this.name, this.address, (session) => {
      this.sessions.push(session)
      this.connections.add(session)
    })
    this.connections.start(this.host)
  }

  knows(other: Peer, runtime: VirtualRuntime): void {
    this.dialler.setInitialPeers([{ peer: other.name, address: other.address }], runtime.clock.steadyMs())
    this.connections.wake()
  }

  /** The sessions that are open. */
  get open(): FakeSession[] {
    return this.sessions.filter(({ isOver }) => !isOver)
  }

  connected(peer: string): void {
    this.events.push(`+${peer[0]}`)
    this.connections.send(peer, hello)
  }

  disconnected(peer: string): void {
    this.events.push(`-${peer[0]}`)
  }

  received(peer: string, { is }: Message): void {
    this.events.push(`${peer[0]}:${is}`)
  }

  bytesArrived(peer: string): void {
    this.events.push(`${peer[0]} heard`)
  }

  congested(peer: string, isCongested: boolean): void {
    this.events.push(`${peer[0]} congested ${isCongested}`)
  }

  syncCongested(peer: string, isCongested: boolean): void {
    this.events.push(`${peer[0]} sync congested ${isCongested}`)
  }
}

/** Lets sessions deliver what waits. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

function twoPeers(): { network: FakeNetwork; runtime: VirtualRuntime; a: Peer; b: Peer } {
  const network = new FakeNetwork()
  const runtime = virtualRuntime()
  return { network, runtime, a: new Peer(network, runtime, 'a'), b: new Peer(network, runtime, 'b') }
}

test('a known peer is dialled, and both sides exchange messages', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  assert.deepEqual(
    [a.events, b.events],
    [
      ['+b', 'b:hello'],
      ['+a', 'a:hello'],
    ],
  )
  a.connections.send(b.name, wantOwn)
  a.connections.send(b.name, ping)
  await settled()
  assert.deepEqual(b.events.slice(2), ['a:want-own', 'a:ping'])
  assert.deepEqual(
    a.sessions[0]?.sent.map(({ channel }) => channel),
    ['live', 'sync', 'live'],
  )
})

test('messages about blocks have a channel of their own, and the exchange is told of each that was sent', async () => {
  const { runtime, a, b } = twoPeers()
  const told: string[] = []
  for (const node of [a, b])
    node.connections.blocks = {
      connected: (peer) => told.push(`${node.name[0]} +${peer[0]}`),
      disconnected: (peer) => told.push(`${node.name[0]} -${peer[0]}`),
      received: (peer, bytes) => {
        if (bytes[0] === 0) throw new MalformedBytes('a test')
        told.push(`${node.name[0]} gets ${bytes.length} bytes of ${peer[0]}`)
      },
      sent: (peer) => told.push(`${node.name[0]} has sent to ${peer[0]}`),
    }
  a.knows(b, runtime)
  await settled()
  assert.deepEqual(new Set(told.splice(0)), new Set(['a +b', 'b +a']))
  a.connections.sendBlocks(b.name, Buffer.of(1, 2, 3))
  a.connections.sendBlocks('c'.repeat(32), Buffer.of(1, 2, 3))
  a.sessions[0]?.onSent('blocks', 3)
  a.sessions[0]?.onSent('live', 3)
  await settled()
  assert.deepEqual(a.sessions[0]?.sent.at(-1)?.channel, 'blocks')
  assert.deepEqual(new Set(told.splice(0)), new Set(['a has sent to b', 'b gets 3 bytes of a']))
  b.sessions[0]?.onBytes()
  assert.equal(b.events.at(-1), 'a heard')
  a.connections.sendBlocks(b.name, Buffer.of(0))
  await settled()
  assert.equal(b.sessions[0]?.closedWith, 'malformedMessage')
  assert.deepEqual(new Set(told), new Set(['a -b', 'b -a']))
})

for (const [reason, isKeptOut] of [
  ['badBlock', true],
  ['unaskedBlocks', true],
  ['tooManyBlockRequests', true],
  ['tooMuchInput', true],
  ['badChunk', true],
  ['badHead', true],
  ['badRecord', true],
  ['malformedMessage', true],
  ['tooManyVerifications', true],
  ['tooManyStreams', true],
  ['tooManyRequests', true],
  ['silent', false],
] as const)
  test(`a peer that is closed for '${reason}' is ${isKeptOut ? '' : 'not '}kept out`, async () => {
    const { runtime, a, b } = twoPeers()
    a.knows(b, runtime)
    await settled()
    a.connections.close(b.name, reason)
    assert.equal(a.sessions[0]?.closedWith, reason)
    assert.equal(a.dialler.isKeptOut(b.name, runtime.clock.steadyMs()), isKeptOut)
  })

test('a peer whose frames the host has found malformed is kept out', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  a.sessions[0]?.end('malformed message on the sync stream', { by: 'this node', code: 'malformedMessage' })
  await settled()
  assert.ok(
    a.log.some((line) => /WARN.* keeping .* out for 60 s: malformedMessage/.test(line)),
    a.log.join(''),
  )
  assert.equal(a.dialler.isKeptOut(b.name, runtime.clock.steadyMs()), true)
  assert.deepEqual(a.connections.counters.keptOut, { malformedMessage: 1 })
})

test('a peer that is gone is told once, and dialled again later', async () => {
  const { network, runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  network.remove(b.address)
  a.sessions[0]?.end('the connection was lost')
  await settled()
  assert.deepEqual(a.events, ['+b', 'b:hello', '-b'])
  assert.equal(a.connections.all.size, 0)
  for (let i = 0; i < 10; i++) {
    runtime.timers.advance(60_000)
    await settled()
  }
  assert.ok(a.host.dials.length > 3)
  assert.deepEqual(a.connections.counters.closed, { 'the connection was lost': 1 })
  assert.equal(
    a.connections.counters.dialFailures['connection refused: no node listens at this address'],
    a.host.dials.length - 1,
  )
})

test('of two sessions that are made at the same time, both sides keep the same one', () =>
  fc.assert(
    fc.asyncProperty(fc.boolean(), fc.boolean(), async (isFirst, isLate) => {
      const { network, runtime, a, b } = twoPeers()
      for (const { address } of [a, b]) network.held.set(address, [])
      a.knows(b, runtime)
      b.knows(a, runtime)
      const letThrough = async ({ address }: Peer): Promise<void> => {
        for (const resolve of network.held.get(address)?.splice(0) ?? []) resolve()
        if (isLate) await settled()
      }
      for (const peer of isFirst ? [a, b] : [b, a]) await letThrough(peer)
      await settled()
      assert.deepEqual([a.sessions.length, b.sessions.length], [2, 2])
      assert.deepEqual([a.open.length, b.open.length], [1, 1])
      // The dial of the higher ID stays.
      assert.deepEqual([a.open[0]?.direction, b.open[0]?.direction], ['inbound', 'outbound'])
      for (const [one, other] of [
        [a, b],
        [b, a],
      ] as const) {
        one.connections.send(other.name, ping)
        await settled()
        assert.equal(other.events.at(-1), `${one.name[0]}:ping`)
        assert.equal(one.connections.all.size, 1)
        const told = one.events.filter((event) => /^[+-]/.test(event))
        assert.ok(
          told.length === 1 || told.join() === `+${other.name[0]},-${other.name[0]},+${other.name[0]}`,
          told.join(),
        )
      }
    }),
  ))

test('messages that overtake the hello wait for it, but not without limit', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  const [session] = a.sessions
  assert.ok(session)
  session.deliver('sync', encodeMessage(wantOwn))
  session.deliver('live', encodeMessage(hello))
  assert.deepEqual(a.events, ['+b', 'b:hello', 'b:want-own'])
  const other = twoPeers()
  other.a.knows(other.b, other.runtime)
  for (let i = 0; i <= limits.earlyMessages; i++) other.a.sessions[0]?.deliver('sync', encodeMessage(wantOwn))
  assert.equal(other.a.sessions[0]?.closedWith, 'malformedMessage')
  await settled()
  assert.deepEqual(other.a.events, ['+b', '-b'])
  const large = twoPeers()
  large.a.knows(large.b, large.runtime)
  // What follows the fields of a message is skipped, but it was received.
  large.a.sessions[0]?.deliver('sync', Buffer.concat([encodeMessage(wantOwn), Buffer.alloc(limits.earlyBytes)]))
  assert.equal(large.a.sessions[0]?.closedWith, 'malformedMessage')
})

test('a peer that sends a malformed message is closed, named in the log, and kept out', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  a.sessions[0]?.deliver('sync', Buffer.from([99]))
  await settled()
  assert.equal(a.sessions[0]?.closedWith, 'malformedMessage')
  assert.ok(a.dialler.isKeptOut(b.name, runtime.clock.steadyMs()))
  assert.ok(
    a.log.some((line) => line.includes('WARN') && line.includes('malformedMessage')),
    a.log.join(''),
  )
  assert.deepEqual(a.connections.counters.keptOut, { malformedMessage: 1 })
  runtime.timers.advance(1000)
  assert.equal(a.host.dials.length, 1)
})

test('a changed display name reaches the connected peers, and those that connect later', async () => {
  const { network, runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  const nameAt = (peer: Peer): string | undefined => peer.connections.all.get(a.name)?.displayName
  assert.equal(nameAt(b), 'A Node')
  a.connections.setDisplayName('Hall 2')
  await settled()
  assert.equal(nameAt(b), 'Hall 2')
  const c = new Peer(network, runtime, 'c')
  c.knows(a, runtime)
  await settled()
  assert.deepEqual([nameAt(c), c.connections.all.get(a.name)?.isClosing], ['Hall 2', false])
  a.connections.setDisplayName('x'.repeat(limits.agentLength + 1))
  await settled()
  assert.equal(nameAt(c), 'x'.repeat(limits.agentLength))
})

test('a malformed display name closes the session', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  a.sessions[0]?.deliver('sync', Buffer.of(128, 255, 255, 3))
  await settled()
  assert.equal(a.sessions[0]?.closedWith, 'malformedMessage')
})

test('a message of a kind that is optional and not known is skipped', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  a.sessions[0]?.deliver('sync', Buffer.from([200, 1, 2, 3]))
  assert.deepEqual([a.events, a.sessions[0]?.closedWith], [['+b', 'b:hello'], undefined])
})

test('answers wait while too many are queued, and new events only when the live stream is full', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  const [session] = a.sessions
  assert.ok(session)
  a.events.length = 0
  session.waitingBytes = limits.congestedBytes + 1
  a.connections.send(b.name, wantOwn)
  a.connections.send(b.name, wantOwn)
  session.waitingBytes = limits.congestedBytes / 2 + 1
  session.onSent('sync', 1)
  session.waitingBytes = limits.congestedBytes / 2
  session.onSent('sync', 1)
  assert.deepEqual(a.events, ['b sync congested true', 'b sync congested false'])
  session.onCongested(true)
  session.onCongested(false)
  assert.deepEqual(a.events.slice(2), [
    'b congested true',
    'b sync congested true',
    'b congested false',
    'b sync congested false',
  ])
  a.connections.pause(b.name, true)
  a.connections.pause(b.name, false)
  assert.deepEqual(session.paused, [true, false])
})

test('an address at which another node answers is learned for that node', async () => {
  const { network, runtime, a, b } = twoPeers()
  const c = new Peer(network, runtime, 'c')
  a.dialler.setInitialPeers([{ peer: b.name, address: c.address }], runtime.clock.steadyMs())
  a.connections.wake()
  await settled()
  runtime.timers.advance(limits.lowerDialsAfterMs + 1000)
  await settled()
  assert.ok(a.events.includes('+c'))
  assert.ok(!a.events.includes('+b'))
})

test('a node that stops closes its sessions, and dials no more', async () => {
  const { runtime, a, b } = twoPeers()
  a.knows(b, runtime)
  await settled()
  a.connections.stop()
  await settled()
  assert.equal(a.sessions[0]?.closedWith, 'stopping')
  assert.deepEqual(b.events.at(-1), '-a')
  runtime.timers.advance(60_000)
  assert.equal(a.host.dials.length, 1)
  assert.equal(decodeMessage(encodeMessage(ping))?.is, 'ping')
})
