import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair, peerIdOf } from '../../../src/identity/index.ts'
import { initialPeersOf } from '../../../src/swarm/thread/initial-peers.ts'

const key = new KeyPair(Buffer.alloc(32, 5)).publicKey
const id = peerIdOf(key)
const peer = Buffer.from(key).toString('latin1')

test('initial peers are addresses of TCP that end in a peer ID; loopback is allowed', () => {
  const { peers, problems } = initialPeersOf([
    `/ip4/10.0.0.7/tcp/4001/p2p/${id}`,
    `/ip4/127.0.0.1/tcp/4002/ipfs/${id}`,
    `/dns4/host.example/tcp/4001/p2p/${id}`,
  ])
  assert.deepEqual(problems, [])
  assert.deepEqual(peers, [
    { peer, address: '/ip4/10.0.0.7/tcp/4001' },
    { peer, address: '/ip4/127.0.0.1/tcp/4002' },
    { peer, address: '/dns4/host.example/tcp/4001' },
  ])
})

test('initial peers that cannot be dialled are named with the reason', () => {
  const bad: [string, RegExp][] = [
    [`/ip4/10.0.0.7/udp/4001/quic-v1/p2p/${id}`, /only addresses of TCP/],
    [`/ip4/0.0.0.0/tcp/4001/p2p/${id}`, /only addresses of TCP/],
    ['/ip4/10.0.0.7/tcp/4001', /only addresses of TCP/],
    ['/ip4/10.0.0.7/tcp/4001/p2p/QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC', /peer ID/],
  ]
  for (const [text, reason] of bad) {
    const { peers, problems } = initialPeersOf([text])
    assert.deepEqual(peers, [])
    assert.equal(problems.length, 1)
    assert.ok(problems[0]?.startsWith(`failed to add initial peer ${text}: `), problems[0])
    assert.match(problems[0] ?? '', reason)
  }
})
