import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../scripts/crash/random.ts'
import { limits } from '../../../src/base/limits.ts'
import * as fc from '../../support/property.ts'
import { testRandom } from '../../support/seed.ts'
import { type Reach, VirtualNetwork, type VirtualNode } from './virtual-network.ts'

const minute = 60_000

function nameOf(random: Random): string {
  return String.fromCharCode(...Array.from({ length: 32 }, () => random.below(256)))
}

function addressOf(node: number): string {
  return `/ip4/10.0.${node >> 8}.${node & 255}/tcp/4001`
}

function pairs(nodes: readonly VirtualNode[]): [VirtualNode, VirtualNode][] {
  return nodes.flatMap((a, i) => nodes.slice(i + 1).map((b): [VirtualNode, VirtualNode] => [a, b]))
}

/** Both nodes have one session with each other, and it is the same one. */
function assertConnectedOnce(network: VirtualNetwork, a: VirtualNode, b: VirtualNode): void {
  const [ofA, ofB] = [network.between(a, b), network.between(b, a)]
  assert.equal(ofA.length, 1, `one session at ${network.now}`)
  assert.equal(ofB.length, 1)
  assert.equal(ofA[0], ofB[0])
  assert.ok(a.dialler.isConnected(b.name) && b.dialler.isConnected(a.name))
}

function announce(network: VirtualNetwork, random: Random, withinMs: number): void {
  for (const node of network.nodes)
    for (const other of network.nodes)
      network.after(withinMs * random.next(), () => {
        node.dialler.learned(other.name, other.addresses, 'mdns', network.now)
        network.act(node)
      })
}

const reaches = fc.constantFrom<Reach>('connects', 'connects', 'connects', 'refused', 'times out')

test('nodes that announce themselves get connected exactly once wherever one of two can reach the other', () => {
  const world = fc.record({
    seed: fc.nat(),
    count: fc.integer({ min: 2, max: 9 }),
    reach: fc.array(reaches, { minLength: 81, maxLength: 81 }),
    breaks: fc.array(
      fc.record({ at: fc.nat(3 * minute), pair: fc.nat(), dialler: fc.nat(minute), listener: fc.nat(minute) }),
      { maxLength: 12 },
    ),
    announcedWithinMs: fc.constantFrom(0, 100, 10_000),
  })
  fc.assert(
    fc.property(world, ({ seed, count, reach, breaks, announcedWithinMs }) => {
      const random = new Random(String(seed))
      const reachOf = (from: VirtualNode, to: VirtualNode): Reach =>
        reach[network.nodes.indexOf(from) * 9 + network.nodes.indexOf(to)] ?? 'connects'
      const network = new VirtualNetwork(() => random.next(), reachOf)
      for (let node = 0; node < count; node++) network.add(nameOf(random), [addressOf(node)])
      announce(network, random, announcedWithinMs)
      const all = pairs(network.nodes)
      for (const { at, pair, dialler, listener } of breaks)
        network.after(at, () => {
          const [a, b] = all[pair % all.length] ?? []
          if (a === undefined || b === undefined) return
          for (const session of network.between(a, b)) network.breakSession(session, [dialler, listener])
        })
      network.runTo(15 * minute)
      for (const [a, b] of all) {
        const canMeet = reachOf(a, b) === 'connects' || reachOf(b, a) === 'connects'
        if (canMeet) assertConnectedOnce(network, a, b)
        else assert.deepEqual([network.between(a, b), network.between(b, a)], [[], []])
      }
      assert.ok(network.maxDialsAtOnce <= limits.dialsAtOnce)
    }),
    { numRuns: 60 },
  )
})

test('a hundred nodes that start at once are connected to all others within a minute', (t) => {
  const random = testRandom(t)
  const network = new VirtualNetwork(
    () => random.next(),
    () => 'connects',
  )
  for (let node = 0; node < 100; node++) network.add(nameOf(random), [addressOf(node)])
  announce(network, random, 5000)
  network.runTo(minute)
  for (const [a, b] of pairs(network.nodes)) assertConnectedOnce(network, a, b)
  const dials = network.nodes.reduce((sum, node) => sum + node.dials.length, 0)
  t.diagnostic(`${dials} dials for 4950 connections`)
  assert.ok(dials < 1.2 * 4950, `${dials} dials`)
})

test('two nodes meet when a firewall drops what comes in at one of them, whichever it is', (t) => {
  for (const blocked of [0, 1]) {
    const random = testRandom(t)
    const network = new VirtualNetwork(
      () => random.next(),
      (_from, to) => (to === network.nodes[blocked] ? 'times out' : 'connects'),
    )
    const [a, b] = [network.add('a'.repeat(32), [addressOf(1)]), network.add('b'.repeat(32), [addressOf(2)])]
    announce(network, random, 0)
    network.runTo(limits.lowerDialsAfterMs + 3000)
    assertConnectedOnce(network, a, b)
  }
})

test('a common peer introduces nodes that do not find each other', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 3, max: 8 }), (seed, count) => {
      const random = new Random(String(seed))
      const network = new VirtualNetwork(
        () => random.next(),
        () => 'connects',
      )
      for (let node = 0; node < count; node++) network.add(nameOf(random), [addressOf(node)])
      const [hub, ...others] = network.nodes
      assert.ok(hub !== undefined)
      const initial = [{ peer: hub.name, address: hub.addresses[0] ?? '' }]
      for (const node of others) node.dialler.setInitialPeers(initial, 0)
      network.runTo(minute)
      for (const [a, b] of pairs(network.nodes)) assertConnectedOnce(network, a, b)
    }),
    { numRuns: 20 },
  )
})

test('a node that answers at the address of another one is connected to, and the other one when it is announced', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const random = new Random(String(seed))
      const network = new VirtualNetwork(
        () => random.next(),
        () => 'connects',
      )
      const [first, moved, found] = [0, 1, 2].map((node) => network.add(nameOf(random), [addressOf(node)]))
      assert.ok(first !== undefined && moved !== undefined && found !== undefined)
      first.dialler.learned(moved.name, found.addresses, 'event', 0)
      network.runTo(minute)
      assertConnectedOnce(network, first, found)
      assert.equal(network.between(first, moved).length, 0)
      first.dialler.learned(moved.name, moved.addresses, 'mdns', minute)
      network.runTo(2 * minute)
      assertConnectedOnce(network, first, moved)
      assert.ok(
        first.dials.filter(({ peer, address }) => peer === moved.name && found.addresses.includes(address)).length < 2,
      )
    }),
    { numRuns: 20 },
  )
})
