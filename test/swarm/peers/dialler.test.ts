import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { Dialler } from '../../../src/swarm/peers/index.ts'
import * as fc from '../../support/property.ts'
import { testRandom } from '../../support/seed.ts'

const [low, self, high] = ['a', 'm', 'z'].map((letter) => letter.repeat(32)) as [string, string, string]
const address = '/ip4/10.0.0.2/tcp/4001'
const other = '/ip4/10.0.0.3/tcp/4001'
const minute = 60_000

function dialler(random: () => number = () => 0.5): Dialler {
  return new Dialler({ self, random }, 0)
}

let sessions = 0
function session(direction: 'inbound' | 'outbound', at = address) {
  return { id: ++sessions, direction, address: at }
}

test('the node with the higher ID dials at once, the other one after five seconds', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 100)
  node.learned(high, [other], 'mdns', 100)
  assert.deepEqual(node.due(100), [{ peer: low, address }])
  assert.equal(node.wakeAt, 5100)
  assert.deepEqual(node.due(5099), [])
  assert.deepEqual(node.due(5100), [{ peer: high, address: other }])
})

test('a node dials its own initial peers at once', () => {
  const node = dialler()
  node.setInitialPeers([{ peer: high, address }], 0)
  assert.deepEqual(node.due(0), [{ peer: high, address }])
})

test('the five seconds begin again when a connection ends', () => {
  const node = dialler()
  node.learned(high, [address], 'mdns', 0)
  const inbound = session('inbound')
  assert.deepEqual(node.connected(high, inbound, 1000), [])
  assert.deepEqual(node.due(60_000), [])
  node.disconnected(high, inbound.id, 'reset', 60_000)
  assert.deepEqual(node.due(64_999), [])
  assert.deepEqual(node.due(65_000), [{ peer: high, address }])
})

test('a node does not dial itself, nor where it listens', () => {
  const node = dialler()
  node.setOwnAddresses([address])
  node.setInitialPeers([{ peer: self, address: other }], 0)
  node.learned(self, [other], 'mdns', 0)
  node.learned(low, [address, '/ip4/010.0.0.2/tcp/4001'], 'event', 0)
  assert.deepEqual(node.due(3_600_000), [])
  node.setOwnAddresses([other])
  assert.deepEqual(node.due(3_600_000), [{ peer: low, address }])
})

test('an address at which this node itself answers is not dialled again for any peer', () => {
  const node = dialler()
  node.learned(low, [address], 'event', 0)
  node.due(0)
  node.dialFailed(low, address, 'this node itself has this address', true, 10, self)
  node.learned(high, [address], 'event', 20)
  assert.deepEqual(node.due(3_600_000), [])
})

test('an address of a node in another topic is dialled again with a growing pause, from whichever source it is', () => {
  const node = dialler()
  node.learned(low, [address], 'event', 0)
  const times: number[] = []
  for (let now = 0; now < 300_000; now += 100)
    for (const dial of node.due(now)) {
      times.push(now)
      node.dialFailed(dial.peer, dial.address, "the node is in the topic 'x', this node in 'y'", false, now)
    }
  const pauses = times.slice(1).map((time, i) => time - (times[i] ?? 0))
  assert.ok(pauses.length > 4 && Math.max(...pauses) <= limits.maxRedialMs + 100, pauses.join())
})

test('an address where another node answers is learned for that node and dropped for the other', () => {
  const node = dialler()
  const found = 'b'.repeat(32)
  node.learned(low, [address], 'event', 0)
  node.due(0)
  node.dialFailed(low, address, 'another node has this address', true, 10, found)
  assert.deepEqual(node.due(10), [{ peer: found, address }])
  node.dialFailed(found, address, 'refused', false, 20)
  const [kept] = node.snapshot().filter(({ peer }) => peer === low)
  assert.deepEqual(kept?.addresses, [])
  assert.deepEqual(
    kept?.failures.map(({ reason }) => reason),
    ['another node has this address'],
  )
  // A source has to name it again, and not at once.
  node.learned(low, [address], 'event', 30)
  assert.equal(
    node.due(59_000).some(({ peer }) => peer === low),
    false,
  )
  node.learned(low, [address], 'event', 60_010)
  assert.equal(
    node.due(60_010).some(({ peer }) => peer === low),
    true,
  )
})

test('an initial address where another node answers is tried again: the settings are not forgotten', () => {
  const node = dialler()
  node.setInitialPeers([{ peer: low, address }], 0)
  node.due(0)
  node.dialFailed(low, address, 'another node has this address', true, 10, high)
  const dials = node.due(10 + limits.maxRedialMs).filter(({ peer }) => peer === low)
  assert.deepEqual(dials, [{ peer: low, address }])
})

test('the operator is told of the first failure of an initial peer, again after a connection', () => {
  const node = dialler()
  node.setInitialPeers([{ peer: low, address }], 0)
  node.learned('b'.repeat(32), [other], 'mdns', 0)
  node.due(0)
  assert.equal(node.dialFailed(low, address, 'refused', false, 0), true)
  assert.equal(node.dialFailed('b'.repeat(32), other, 'refused', false, 0), false)
  const connect = (now: number) => node.due(now).some(({ peer }) => peer === low)
  assert.ok(connect(2000))
  assert.equal(node.dialFailed(low, address, 'refused', false, 2000), false)
  const inbound = session('inbound')
  node.connected(low, inbound, 3000)
  node.disconnected(low, inbound.id, 'reset', 30_000)
  assert.ok(connect(30_000))
  assert.equal(node.dialFailed(low, address, 'refused', false, 30_000), true)
})

test('initial peers that are removed from the settings are not dialled any more', () => {
  const node = dialler()
  node.setInitialPeers([{ peer: low, address }], 0)
  node.setInitialPeers([{ peer: high, address: other }], 10)
  assert.deepEqual(node.due(3_600_000), [{ peer: high, address: other }])
  assert.deepEqual(
    node.snapshot().map(({ peer }) => peer),
    [high],
  )
})

test('the addresses of a peer are dialled in turn, the last that worked first', () => {
  const node = dialler()
  node.learned(low, [address, other], 'mdns', 0)
  const [first] = node.due(0)
  assert.ok(first !== undefined)
  node.dialFailed(low, first.address, 'refused', false, 10)
  const [second] = node.due(10)
  assert.deepEqual(new Set([first.address, second?.address]), new Set([address, other]))
  const outbound = session('outbound', second?.address)
  node.connected(low, outbound, 20)
  node.disconnected(low, outbound.id, 'reset', 20 + limits.stableSessionMs)
  assert.deepEqual(node.due(20 + limits.stableSessionMs), [{ peer: low, address: second?.address }])
})

test('the time between two dials doubles from a second to a minute', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1 }),
      fc.nat(40),
      (randoms, times) => {
        let at = 0
        const node = dialler(() => randoms[at++ % randoms.length] ?? 0)
        node.learned(low, [address], 'mdns', 0)
        let now = 0
        for (let failures = 1; failures <= times; failures++) {
          assert.deepEqual(node.due(now), [{ peer: low, address }])
          node.dialFailed(low, address, 'refused', false, now)
          const wait = (node.wakeAt ?? 0) - now
          const base = Math.min(48_000, 1000 * 2 ** (failures - 1))
          assert.ok(wait > base - 0.1 && wait < 1.25 * base + 0.1 && wait < limits.maxRedialMs + 0.1, `${wait} ms`)
          assert.deepEqual(node.due(now + wait - 1), [])
          now += wait
        }
      },
    ),
  )
})

test('a peer that closes every connection is dialled less and less often', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 0)
  let now = 0
  for (let early = 1; early <= 8; early++) {
    assert.deepEqual(node.due(now), [{ peer: low, address }])
    const outbound = session('outbound')
    node.connected(low, outbound, now)
    node.disconnected(low, outbound.id, 'another topic', now + 5)
    node.introductions(now + minute, () => false)
    const wait = (node.wakeAt ?? 0) - now - 5
    assert.ok(wait >= Math.min(48_000, 1000 * 2 ** (early - 1)), `${wait} ms`)
    now = node.wakeAt ?? 0
  }
  const [known] = node.snapshot()
  assert.match(known?.failures[0]?.reason ?? '', /ended early: another topic/)
})

test('a peer that is announced again after it was away is dialled at once', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 0)
  let now = 0
  for (let failures = 0; failures < 8; failures++) {
    node.due(now)
    node.dialFailed(low, address, 'refused', false, now)
    now = node.wakeAt ?? 0
    // Announcements that go on change nothing.
    if (failures < 4) node.learned(low, [address], 'mdns', now - 1)
    assert.deepEqual(node.due(now - 0.5), [])
  }
  node.due(now)
  node.dialFailed(low, address, 'refused', false, now)
  assert.deepEqual(node.due(now + 1000), [])
  node.learned(low, [address], 'mdns', now + 1000)
  assert.deepEqual(node.due(now + 1000), [{ peer: low, address }])
})

test('of two dials at the same time, the one of the higher ID stays, in whatever order they end', () => {
  for (const [peer, staying] of [
    [low, 'outbound'],
    [high, 'inbound'],
  ] as const)
    for (const order of [
      ['inbound', 'outbound'],
      ['outbound', 'inbound'],
    ] as const) {
      const node = dialler()
      const [first, second] = [session(order[0]), session(order[1])]
      assert.deepEqual(node.connected(peer, first, 0), [])
      const leaving = first.direction === staying ? second : first
      assert.deepEqual(node.connected(peer, second, 1000), [leaving.id])
      node.disconnected(peer, leaving.id, 'double', 2000)
      assert.ok(node.isConnected(peer))
      assert.deepEqual(
        node.snapshot()[0]?.sessions.map(({ direction }) => direction),
        [staying],
      )
      assert.deepEqual(node.due(60_000), [])
    }
})

test('a connection that a peer has lost is replaced by the one that it makes', () => {
  const node = dialler()
  const lost = session('outbound')
  node.connected(low, lost, 0)
  const again = session('inbound')
  assert.deepEqual(node.connected(low, again, 2 * limits.dialMs + 1), [lost.id])
  const third = session('inbound')
  assert.deepEqual(node.connected(low, third, 2 * limits.dialMs + 2), [again.id])
})

test('a peer is kept out for a growing while, and starts anew after it has behaved', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 0)
  let now = 0
  for (const ms of [60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000, 3_600_000]) {
    node.keepOut(low, now)
    assert.ok(node.isKeptOut(low, now + ms - 1) && !node.isKeptOut(low, now + ms))
    assert.deepEqual(node.due(now + ms - 1), [])
    now += ms
  }
  assert.deepEqual(node.due(now), [{ peer: low, address }])
  node.keepOut(low, now + limits.maxKeepOutMs + 1)
  assert.ok(!node.isKeptOut(low, now + limits.maxKeepOutMs + 1 + limits.minKeepOutMs))
})

test('no more than two dials are under way', () => {
  const node = dialler()
  for (const letter of 'bcdef')
    node.learned(letter.repeat(32), [`/ip4/10.0.1.1/tcp/${letter.charCodeAt(0)}`], 'mdns', 0)
  const begun = node.due(0)
  assert.equal(begun.length, 2)
  assert.deepEqual(node.due(1000), [])
  assert.equal(node.wakeAt, undefined)
  node.dialFailed(begun[0]?.peer ?? '', begun[0]?.address ?? '', 'refused', false, 1000)
  assert.equal(node.due(1000).length, 1)
})

test('peers that were never tried come before those that failed, and none waits for ever', (t) => {
  const random = testRandom(t)
  const node = dialler(() => random.next())
  node.setInitialPeers([{ peer: low, address }], 0)
  node.due(0)
  node.dialFailed(low, address, 'timeout', false, 0)
  let [now, isDialledAt] = [2000, 0]
  for (let i = 0; i < 100 && isDialledAt === 0; i++, now += 10) {
    // A flood of made-up nodes, which are all new.
    for (let j = 0; j < 5; j++) node.learned(`b${i}.${j}`.padEnd(32), [other], 'introduced', now)
    for (const dial of node.due(now))
      if (dial.peer === low) isDialledAt = now
      else node.dialFailed(dial.peer, dial.address, 'refused', false, now)
  }
  assert.ok(isDialledAt > 0)
})

test('addresses that cannot be dialled are ignored', () => {
  const node = dialler()
  const bad = [
    '',
    'x'.repeat(1000),
    '/ip4/10.0.0.2',
    '/ip4/10.0.0.2/udp/4001',
    '/ip4/10.0.0.2/tcp/0',
    '/ip4/10.0.0.2/tcp/70000',
    '/ip4/300.0.0.2/tcp/4001',
    '/ip4/0.0.0.0/tcp/4001',
    '/ip4/255.255.255.255/tcp/4001',
    '/ip4/224.0.0.251/tcp/4001',
    '/ip6/::/tcp/4001',
    '/ip6/fe80::1/tcp/4001',
    '/dns4/a b/tcp/4001',
  ]
  for (const text of bad) node.learned(low, [text], 'introduced', 0)
  assert.deepEqual(node.snapshot(), [])
  node.learned(low, ['/ip6/fd00:0:0::0002/tcp/4001', '/ip6/fd00::2/tcp/4001', '/dns/Host.local/tcp/4001'], 'event', 0)
  assert.deepEqual(
    node.snapshot()[0]?.addresses.map((known) => known.address),
    ['/ip6/fd00::2/tcp/4001', '/dns/host.local/tcp/4001'],
  )
})

test('the memory of what others say is bounded, and initial peers and connected ones stay', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(3), (addresses, kind) => {
      const node = dialler()
      node.setInitialPeers([{ peer: high, address }], 0)
      node.learned(low, [other], 'mdns', 0)
      const connected = session('inbound')
      node.connected('connected'.padEnd(32), connected, 0)
      const source = (['introduced', 'event', 'identify', 'mdns'] as const)[kind] ?? 'event'
      for (let i = 0; i < limits.knownPeers + 200; i++) {
        const list = Array.from({ length: addresses }, (_, j) => `/ip4/10.${i >> 8}.${i & 255}.${j + 1}/tcp/4001`)
        node.learned(`flood${i}`.padEnd(32), list, source, i)
        node.learned(high, list, 'introduced', i)
      }
      const known = node.snapshot()
      assert.ok(known.length <= limits.knownPeers + 2)
      for (const peer of known) assert.ok(peer.addresses.length <= limits.addressesPerNode + 1)
      const initial = known.find(({ peer }) => peer === high)
      assert.ok(initial?.addresses.some((of) => of.address === address))
      assert.ok(known.some(({ peer }) => peer === 'connected'.padEnd(32)))
      if (source !== 'mdns') assert.ok(known.some(({ peer }) => peer === low))
    }),
    { numRuns: 8 },
  )
})

test('addresses that worked are not displaced by what others say', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 0)
  node.due(0)
  const outbound = session('outbound')
  node.connected(low, outbound, 10)
  for (let i = 0; i < 1000; i++) node.learned(low, [`/ip4/10.9.${i >> 8}.${i & 255}/tcp/4001`], 'introduced', 20 + i)
  node.disconnected(low, outbound.id, 'reset', 20_000)
  assert.deepEqual(node.due(20_000), [{ peer: low, address }])
})

test('the last ten failures of a peer are kept, the newest first', () => {
  const node = dialler()
  node.learned(low, [address], 'mdns', 0)
  let now = 0
  for (let i = 0; i < 15; i++) {
    node.due(now)
    node.dialFailed(low, address, `failure ${i}`, false, now)
    now = node.wakeAt ?? 0
  }
  const [known] = node.snapshot()
  assert.equal(known?.failures.length, 10)
  assert.equal(known?.failures[0]?.reason, 'failure 14')
  assert.equal(known?.addresses[0]?.failures, 15)
  assert.equal(known?.state, 'waiting')
})

test('addresses that an event says are gone are not dialled, unless another source names them', () => {
  const node = dialler()
  node.learned(low, [address, other], 'event', 0)
  node.learned(low, [other], 'mdns', 0)
  node.expired(low, [address, other], 'event')
  assert.deepEqual(node.due(0), [{ peer: low, address: other }])
})

test('what a node says of itself replaces what it said before', () => {
  const node = dialler()
  const inbound = session('inbound')
  node.connected(low, inbound, 0)
  node.learned(low, [address], 'identify', 0)
  node.learned(low, [other], 'identify', 10)
  assert.deepEqual(
    node.snapshot()[0]?.addresses.map((known) => known.address),
    [other],
  )
})

test('a connected peer that tells other addresses of its own replaces the earlier ones', () => {
  const node = dialler()
  const addressesOf = (name: string): string[] | undefined =>
    node
      .snapshot()
      .find(({ peer }) => peer === name)
      ?.addresses.map((known) => known.address)
  node.connected(low, { id: 1, direction: 'inbound', address }, 0)
  node.learned(low, ['/ip4/10.0.0.9/tcp/4001'], 'identify', 0)
  node.told(low, low, ['/ip4/10.0.0.9/tcp/4002'], 1)
  assert.deepEqual(addressesOf(low), ['/ip4/10.0.0.9/tcp/4002'])
  // What it says of others is added to what is known of them.
  node.learned(high, [other], 'mdns', 1)
  node.told(low, high, ['/ip4/10.0.0.8/tcp/4001'], 2)
  assert.deepEqual(addressesOf(high), [other, '/ip4/10.0.0.8/tcp/4001'])
})
