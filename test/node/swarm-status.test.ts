import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair, type NodeId, nodeIdOf } from '../../src/identity/index.ts'
import { metricsPayload } from '../../src/node/metrics-event.ts'
import { addSwarmMetrics } from '../../src/node/swarm-metrics.ts'
import { aheadOfPeers, peerOffsets, swarmInfo } from '../../src/node/swarm-status.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import type { PeerConnection, SwarmSnapshot } from '../../src/swarm/index.ts'
import { nodeId } from '../support/api.ts'

const peers = [1, 2].map((byte) => new KeyPair(Buffer.alloc(32, byte)).publicKey)
const [first = '', second = ''] = peers.map((key) => Buffer.from(key).toString('latin1'))
const [firstId, secondId] = peers.map((key) => nodeIdOf(key))

function connection(peer: string, changes: Partial<PeerConnection> = {}): PeerConnection {
  return {
    peer,
    direction: 'outbound',
    address: '/ip4/10.0.0.2/tcp/4001',
    since: 0,
    agent: 'Hall 1',
    isReady: true,
    isCongested: false,
    sentBytes: 10,
    receivedBytes: 20,
    usefulBytes: 15,
    chunks: 7,
    newStreams: 2,
    refusedChunks: 1,
    blocksAsked: 8,
    blocksRequested: 9,
    waitingBytes: 3,
    unstoredBytes: 4,
    ping: { current: 2500, decay3: 2000, decay10: 2000, failures: 0, failureRate: 0 },
    clockAheadMs: -1500,
    missingHere: 5,
    missingThere: 6,
    ...changes,
  }
}

const known = { isInitial: false, addresses: [], failures: [], keptOutUntil: undefined }
const session = { id: 1, direction: 'outbound', address: '/ip4/10.0.0.2/tcp/4001', since: 0 } as const

const snapshot: SwarmSnapshot = {
  wallMs: 1_700_000_000_000,
  steadyMs: 100,
  listenAddresses: ['/ip4/10.0.0.1/tcp/4001', '/ip4/127.0.0.1/tcp/4001', '/ip6/fd00::1/tcp/4001'],
  announcedAddresses: ['/ip4/203.0.113.9/tcp/4001'],
  observedAddresses: [],
  connections: [connection(first), connection(second, { isReady: false, ping: undefined })],
  knownPeers: [
    { ...known, peer: first, state: 'connected', sessions: [session, { ...session, id: 2, direction: 'inbound' }] },
    { ...known, peer: second, state: 'connected', sessions: [session] },
    { ...known, peer: 'c'.repeat(32), state: 'waiting', sessions: [] },
  ],
  statuses: { [nodeId]: 'LowLatency', [firstId as NodeId]: 'PartiallyWorking' },
  peerOffsets: { [`${firstId}-0`]: 41 },
  counters: {
    dials: 9,
    dialFailures: { 'connection refused': 2, 'no answer': 1 },
    inboundFailures: { 'wrong swarm key': 4 },
    closed: { double: 1 },
    listenerErrors: 1,
    keptOut: { badChunk: 2 },
    sentBytes: 100,
    receivedBytes: 200,
    storedEvents: 300,
    failures: { replication: 7, removal: 0, blocks: 0, settings: 0 },
  },
}

function valuesOf(metrics: Metrics): Record<string, number> {
  const lines = metrics.text().split('\n')
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
}

test('the node says how many others are connected, and how well they keep up', () => {
  assert.deepEqual(
    swarmInfo(nodeId, () => snapshot),
    {
      connectedNodes: 2,
      peersStatus: { [nodeId]: 'LowLatency', [firstId as string]: 'PartiallyWorking' },
    },
  )
  assert.deepEqual(
    swarmInfo(nodeId, () => ({ ...snapshot, connections: [], statuses: {} })),
    {
      connectedNodes: 0,
      peersStatus: {},
    },
  )
})

test('nothing is known of the nodes while the swarm thread does not run', () => {
  assert.deepEqual(
    swarmInfo(nodeId, () => undefined),
    { connectedNodes: 0, peersStatus: {} },
  )
})

test('a node without a swarm keeps up with itself, and lacks nothing', () => {
  assert.deepEqual(swarmInfo(nodeId, undefined), { connectedNodes: 0, peersStatus: { [nodeId]: 'LowLatency' } })
  assert.deepEqual(peerOffsets(undefined), {})
  assert.deepEqual(aheadOfPeers(undefined), [])
})

test('what peers have and how far their clocks are is taken from the snapshot', () => {
  assert.deepEqual(peerOffsets(snapshot), { [`${firstId}-0`]: 41 })
  // The clock of a peer is not known before its hello.
  assert.deepEqual(aheadOfPeers(snapshot), [1_500_000])
})

test('metrics show the swarm, by reason and by peer', () => {
  const metrics = new Metrics()
  addSwarmMetrics(metrics, () => snapshot)
  assert.deepEqual(valuesOf(metrics), {
    peers_listeners: 2,
    peers_listen_addrs: 3,
    peers_external_addrs: 1,
    peers_discovered: 3,
    peers_connected: 2,
    peers_connections: 3,
    peers_listener_error: 1,
    peers_address_reach_failure: 3,
    peers_dial_failure: 3,
    shoal_swarm_dials_total: 9,
    'shoal_swarm_dial_failures_total{reason="connection refused"}': 2,
    'shoal_swarm_dial_failures_total{reason="no answer"}': 1,
    'shoal_swarm_inbound_failures_total{reason="wrong swarm key"}': 4,
    'shoal_swarm_closed_total{reason="double"}': 1,
    'shoal_swarm_kept_out_total{reason="badChunk"}': 2,
    shoal_swarm_sent_bytes_total: 100,
    shoal_swarm_received_bytes_total: 200,
    shoal_swarm_stored_events_total: 300,
    'shoal_swarm_failures_total{work="replication"}': 7,
    'shoal_swarm_failures_total{work="removal"}': 0,
    'shoal_swarm_failures_total{work="blocks"}': 0,
    'shoal_swarm_failures_total{work="settings"}': 0,
    [`shoal_peer_missing_events{peer="${firstId}"}`]: 5,
    [`shoal_peer_missing_events{peer="${secondId}"}`]: 5,
    [`shoal_peer_lag_events{peer="${firstId}"}`]: 6,
    [`shoal_peer_lag_events{peer="${secondId}"}`]: 6,
    [`shoal_peer_round_trip_seconds{peer="${firstId}"}`]: 0.0025,
    [`shoal_peer_ping_failures{peer="${firstId}"}`]: 0,
    [`shoal_peer_clock_skew_seconds{peer="${firstId}"}`]: -1.5,
    [`shoal_peer_waiting_bytes{peer="${firstId}"}`]: 3,
    [`shoal_peer_waiting_bytes{peer="${secondId}"}`]: 3,
    [`shoal_peer_unstored_bytes{peer="${firstId}"}`]: 4,
    [`shoal_peer_unstored_bytes{peer="${secondId}"}`]: 4,
    [`shoal_peer_blocks_asked{peer="${firstId}"}`]: 8,
    [`shoal_peer_blocks_asked{peer="${secondId}"}`]: 8,
    [`shoal_peer_blocks_requested{peer="${firstId}"}`]: 9,
    [`shoal_peer_blocks_requested{peer="${secondId}"}`]: 9,
    [`shoal_peer_chunks_total{peer="${firstId}"}`]: 7,
    [`shoal_peer_chunks_total{peer="${secondId}"}`]: 7,
    [`shoal_peer_new_streams_total{peer="${firstId}"}`]: 2,
    [`shoal_peer_new_streams_total{peer="${secondId}"}`]: 2,
    [`shoal_peer_refused_chunks_total{peer="${firstId}"}`]: 1,
    [`shoal_peer_refused_chunks_total{peer="${secondId}"}`]: 1,
    [`shoal_peer_sent_bytes_total{peer="${firstId}"}`]: 10,
    [`shoal_peer_sent_bytes_total{peer="${secondId}"}`]: 10,
    [`shoal_peer_received_bytes_total{peer="${firstId}"}`]: 20,
    [`shoal_peer_received_bytes_total{peer="${secondId}"}`]: 20,
    [`shoal_peer_useful_bytes_total{peer="${firstId}"}`]: 15,
    [`shoal_peer_useful_bytes_total{peer="${secondId}"}`]: 15,
  })
})

test('a node without a swarm has the families of the swarm, with zeros', () => {
  const metrics = new Metrics()
  addSwarmMetrics(metrics, () => undefined)
  const values = valuesOf(metrics)
  assert.equal(values['peers_connected'], 0)
  assert.equal(values['peers_dial_failure'], 0)
  assert.ok(Object.values(values).every((value) => value === 0))
})

test('metrics events have the families of the swarm, and none per peer', () => {
  const metrics = new Metrics()
  addSwarmMetrics(metrics, () => snapshot)
  const families = metricsPayload(metrics, 7)
  const connected = families.find(([name]) => name === 'peers_connected')
  assert.deepEqual(connected, ['peers_connected', 'Connected nodes of the swarm.', [[1, [[], 7, 2]]]])
  assert.deepEqual(
    families.filter(([name]) => name.startsWith('shoal_peer_')),
    [],
  )
})
