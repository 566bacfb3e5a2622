import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../../src/base/tuning.ts'
import { Dialler } from '../../../src/swarm/peers/index.ts'

const [self, a, b] = ['s', 'a', 'b'].map((letter) => letter.repeat(32)) as [string, string, string]
const later = tuning.introductionDelayMs
const isNotConnected = (): boolean => false

function connect(node: Dialler, peer: string, remote: string, addresses: readonly string[], now: number): number {
  const id = peer.charCodeAt(0)
  node.connected(peer, { id, direction: 'inbound', address: remote }, now)
  node.learned(peer, addresses, 'identify', now)
  return id
}

function dialler(): Dialler {
  const node = new Dialler({ self, random: () => 0.5 }, 0)
  node.setOwnAddresses(['/ip4/10.0.0.1/tcp/4001', '/ip4/127.0.0.1/tcp/4001'])
  return node
}

test('two connected peers are told the addresses of each other, once', () => {
  const node = dialler()
  connect(node, a, '/ip4/10.0.0.2/tcp/50001', ['/ip4/10.0.0.2/tcp/4001', '/ip4/127.0.0.1/tcp/4001'], 0)
  const ofB = connect(node, b, '/ip4/10.0.0.3/tcp/50001', ['/ip4/10.0.0.3/tcp/4001'], 0)
  assert.deepEqual(node.introductions(0, isNotConnected), [])
  assert.equal(node.wakeAt, later)
  assert.deepEqual(node.introductions(later, isNotConnected), [
    { to: a, nodes: [{ peer: b, addresses: ['/ip4/10.0.0.3/tcp/4001'] }] },
    { to: b, nodes: [{ peer: a, addresses: ['/ip4/10.0.0.2/tcp/4001'] }] },
  ])
  node.learned(b, ['/ip4/10.0.0.3/tcp/4001'], 'identify', later)
  assert.deepEqual(node.introductions(3 * later, isNotConnected), [])
  node.learned(b, ['/ip4/10.0.0.3/tcp/4002'], 'identify', 3 * later)
  assert.deepEqual(node.introductions(4 * later, isNotConnected), [
    { to: a, nodes: [{ peer: b, addresses: ['/ip4/10.0.0.3/tcp/4002'] }] },
  ])
  node.disconnected(b, ofB, 'reset', 5 * later)
  assert.deepEqual(node.introductions(9 * later, isNotConnected), [])
})

test('peers that are connected to each other are not introduced', () => {
  const node = dialler()
  connect(node, a, '/ip4/10.0.0.2/tcp/50001', ['/ip4/10.0.0.2/tcp/4001'], 0)
  connect(node, b, '/ip4/10.0.0.3/tcp/50001', ['/ip4/10.0.0.3/tcp/4001'], 0)
  assert.deepEqual(
    node.introductions(later, (peer) => peer === a),
    [],
  )
})

test('only what a node says itself, or what has worked, is passed on', () => {
  const node = dialler()
  connect(node, a, '/ip4/10.0.0.2/tcp/50001', [], 0)
  connect(node, b, '/ip4/10.0.0.3/tcp/50001', [], 0)
  node.learned(b, ['/ip4/10.0.0.4/tcp/4001'], 'introduced', 0, a)
  node.learned(b, ['/ip4/10.0.0.5/tcp/4001'], 'event', 0)
  assert.deepEqual(node.introductions(later, isNotConnected), [])
})

test('loopback addresses stay on the machine, and introduce its nodes to each other', () => {
  const node = dialler()
  const loopback = '/ip4/127.0.0.1/tcp/4002'
  connect(node, a, '/ip4/127.0.0.1/tcp/50001', [loopback], 0)
  connect(node, b, '/ip4/10.0.0.3/tcp/50001', ['/ip4/10.0.0.3/tcp/4001', '/ip4/127.0.0.1/tcp/4001'], 0)
  const here = 'c'.repeat(32)
  connect(node, here, '/ip4/10.0.0.1/tcp/50002', ['/ip4/10.0.0.1/tcp/4003'], 0)
  const told = new Map(node.introductions(later, isNotConnected).map(({ to, nodes }) => [to, nodes]))
  assert.deepEqual(told.get(b), [{ peer: here, addresses: ['/ip4/10.0.0.1/tcp/4003'] }])
  assert.deepEqual(
    told.get(here)?.find(({ peer }) => peer === a),
    { peer: a, addresses: [loopback] },
  )
})

test('loopback addresses are only taken from nodes of this machine', () => {
  const loopback = '/ip4/127.0.0.1/tcp/4009'
  const addressesOf = (node: Dialler) => node.snapshot().flatMap(({ addresses }) => addresses.map((of) => of.address))
  const node = dialler()
  connect(node, a, '/ip4/10.0.0.2/tcp/50001', [loopback, '/ip6/::1/tcp/1'], 0)
  node.learned(b, [loopback, '/dns4/localhost/tcp/1'], 'introduced', 0, a)
  node.learned(b, [loopback], 'event', 0)
  node.learned(b, [loopback], 'mdns', 0)
  assert.deepEqual(addressesOf(node), [])
  node.learned(b, ['/ip4/10.0.0.1/tcp/4009', loopback], 'mdns', 0)
  assert.deepEqual(addressesOf(node), ['/ip4/10.0.0.1/tcp/4009', loopback])
  const near = dialler()
  connect(near, a, '/ip4/127.0.0.1/tcp/50001', [], 0)
  near.learned(b, [loopback], 'introduced', 0, a)
  assert.deepEqual(addressesOf(near), [loopback])
  const configured = dialler()
  configured.setInitialPeers([{ peer: a, address: loopback }], 0)
  assert.deepEqual(configured.due(0), [{ peer: a, address: loopback }])
})
