import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectText } from '../../src/cli/commands/inspect-text.ts'
import { KeyPair, nodeIdOf, peerIdOf } from '../../src/identity/index.ts'
import { inspected } from '../../src/node/inspect.ts'
import { versionString } from '../../src/runtime/version.ts'
import type { SwarmSnapshot } from '../../src/swarm/index.ts'

const [own, other] = [new KeyPair(Buffer.alloc(32, 1)), new KeyPair(Buffer.alloc(32, 2))]
const peer = Buffer.from(other.publicKey).toString('latin1')
const peerId = peerIdOf(other.publicKey)
const addresses = {
  api: [],
  admin: [{ address: '127.0.0.1', port: 4458 }],
  swarm: [{ address: '::', port: 4001 }],
}
const ping = { current: 900, decay3: 12_400, decay10: 15_600, failures: 1, failureRate: 12_345 }
const snapshot = {
  wallMs: Date.UTC(2026, 0, 1),
  steadyMs: 60_000,
  listenAddresses: ['/ip4/10.0.0.1/tcp/4001'],
  announcedAddresses: ['/ip4/1.2.3.4/tcp/4001'],
  observedAddresses: ['/ip4/1.2.3.4/tcp/4001', '/ip4/1.2.3.5/tcp/4001'],
  connections: [{ peer, direction: 'outbound', address: '/ip4/10.0.0.2/tcp/4001', since: 0, agent: 'Press 7', ping }],
  knownPeers: [
    {
      peer,
      addresses: [
        { address: '/ip4/10.0.0.2/tcp/4001', sources: ['identify', 'mdns', 'dialled'], since: 30_000 },
        { address: '/ip4/10.0.0.3/tcp/4001', sources: ['event'], since: 60_000 },
      ],
      failures: Array.from({ length: 11 }, (_, i) => ({
        address: '/ip4/10.0.0.3/tcp/4001',
        at: 60_000 - i,
        reason: 'no answer',
      })),
    },
  ],
} as unknown as SwarmSnapshot

test('a node without a swarm has its own addresses only', () => {
  const shown = inspected(own, addresses, undefined)
  assert.equal(shown.nodeId, nodeIdOf(own.publicKey))
  assert.equal(shown.peerId, peerIdOf(own.publicKey))
  assert.deepEqual(shown.swarmAddrs, ['/ip6/::/tcp/4001'])
  assert.deepEqual(shown.adminAddrs, ['/ip4/127.0.0.1/tcp/4458'])
  assert.deepEqual([shown.announceAddrs, shown.connections, shown.knownPeers], [[], [], []])
  assert.match(inspectText(shown), /^AnnounceAddrs: none$/m)
})

test('connections and known peers are shown with wall times and the names of the reference', () => {
  const { connections, knownPeers, swarmAddrs, announceAddrs } = inspected(own, addresses, snapshot)
  assert.deepEqual(swarmAddrs, ['/ip4/10.0.0.1/tcp/4001'])
  assert.deepEqual(announceAddrs, ['/ip4/1.2.3.4/tcp/4001', '/ip4/1.2.3.5/tcp/4001'])
  assert.deepEqual(connections, [
    { peerId, addr: '/ip4/10.0.0.2/tcp/4001', since: '2025-12-31T23:59:00.000Z', outbound: true },
  ])
  const [known] = knownPeers
  assert.ok(known)
  assert.equal(known.info.agentVersion, 'Press 7')
  assert.deepEqual(known.info.listeners, ['/ip4/10.0.0.2/tcp/4001'])
  assert.deepEqual(known.addrSource, ['Dial', 'Candidate'])
  assert.deepEqual(known.addrSince, ['2025-12-31T23:59:30.000Z', '2026-01-01T00:00:00.000Z'])
  assert.equal(known.failures.length, 10)
  assert.deepEqual(known.pingStats, ping)
})

test('the text has the parts of the reference in their order', () => {
  const text = inspectText(inspected(own, addresses, snapshot))
  const names = ['PeerId', 'NodeId', 'Node version', 'SwarmAddrs', 'AnnounceAddrs', 'AdminAddrs']
  const tables = ['Connections', 'KnownPeers', 'Failures', 'Ping statistics']
  assert.deepEqual(
    [...text.matchAll(/^([A-Z][A-Za-z ]+):/gm)].map(([, name]) => name),
    [...names, ...tables],
  )
  assert.ok(text.includes(`Node version: ${versionString}`))
  assert.match(text, /│ 12D3KooW\w+ │ 900µs {3}│ 12ms {2}│ 16ms {3}│ 1 {8}│ 1\.2345% {6}│/)
  assert.match(text, /│ TIME .*│ ADDRESS .*│ PEERID .*│ MESSAGE +│/)
})
