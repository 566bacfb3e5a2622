import type { Metrics, Sample } from '../observability/metrics.ts'
import { nodeIdOfPeer, type PeerConnection, type SwarmCounters } from '../swarm/index.ts'
import type { LatestSnapshot } from './swarm-status.ts'

const noCounters: SwarmCounters = {
  dials: 0,
  dialFailures: {},
  inboundFailures: {},
  closed: {},
  listenerErrors: 0,
  keptOut: {},
  sentBytes: 0,
  receivedBytes: 0,
  storedEvents: 0,
  failures: { replication: 0, removal: 0, blocks: 0, settings: 0 },
}

/** The metrics of the swarm, from the latest snapshot. */
export function addSwarmMetrics(metrics: Metrics, snapshot: LatestSnapshot): void {
  addReferenceMetrics(metrics, snapshot)
  addTotals(metrics, snapshot)
  addPeerMetrics(metrics, snapshot)
}

/** The families that the reference has, too. */
function addReferenceMetrics(metrics: Metrics, snapshot: LatestSnapshot): void {
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.gauge(name, help, () => ({ value: value() }))
  gauge('peers_listeners', 'Ports at which other nodes can connect.', () => ports(snapshot()?.listenAddresses ?? []))
  gauge('peers_listen_addrs', 'Addresses at which the node listens.', () => snapshot()?.listenAddresses.length ?? 0)
  gauge(
    'peers_external_addrs',
    'Configured addresses that are told to other nodes.',
    () => snapshot()?.announcedAddresses.length ?? 0,
  )
  gauge('peers_discovered', 'Known nodes of the swarm.', () => snapshot()?.knownPeers.length ?? 0)
  gauge('peers_connected', 'Connected nodes of the swarm.', () => snapshot()?.connections.length ?? 0)
  gauge('peers_connections', 'Connections to nodes of the swarm.', () => {
    return snapshot()?.knownPeers.reduce((sum, { sessions }) => sum + sessions.length, 0) ?? 0
  })
  const counter = (name: string, help: string, value: (counters: SwarmCounters) => number): void =>
    metrics.counted(name, help, () => [{ value: value(snapshot()?.counters ?? noCounters) }])
  counter('peers_listener_error', 'Errors of listening sockets.', ({ listenerErrors }) => listenerErrors)
  counter('peers_address_reach_failure', 'Addresses that were dialled in vain.', ({ dialFailures }) =>
    sum(dialFailures),
  )
  // Each dial is of one address, so both count the same.
  counter('peers_dial_failure', 'Failed dials.', ({ dialFailures }) => sum(dialFailures))
}

function addTotals(metrics: Metrics, snapshot: LatestSnapshot): void {
  const total = (name: string, help: string, value: (counters: SwarmCounters) => number): void =>
    metrics.counted(name, help, () => [{ value: value(snapshot()?.counters ?? noCounters) }])
  const byReason = (
    name: string,
    help: string,
    of: (counters: SwarmCounters) => Readonly<Record<string, number>>,
  ): void =>
    metrics.counted(name, help, () => {
      const counts = Object.entries(of(snapshot()?.counters ?? noCounters))
      return counts.map(([reason, value]) => ({ labels: { reason }, value }))
    })
  total('shoal_swarm_dials_total', 'Dials of other nodes.', ({ dials }) => dials)
  byReason('shoal_swarm_dial_failures_total', 'Failed dials, by reason.', (counters) => counters.dialFailures)
  byReason(
    'shoal_swarm_inbound_failures_total',
    'Inbound connections that failed, by reason.',
    (counters) => counters.inboundFailures,
  )
  byReason('shoal_swarm_closed_total', 'Connections that were closed, by reason.', (counters) => counters.closed)
  byReason(
    'shoal_swarm_kept_out_total',
    'Times that a peer was kept out for what it sent, by reason.',
    (counters) => counters.keptOut,
  )
  total('shoal_swarm_sent_bytes_total', 'Bytes of messages to other nodes.', ({ sentBytes }) => sentBytes)
  total('shoal_swarm_received_bytes_total', 'Bytes of messages of other nodes.', (counters) => counters.receivedBytes)
  total('shoal_swarm_stored_events_total', 'Stored events of other nodes.', ({ storedEvents }) => storedEvents)
  metrics.counted('shoal_swarm_failures_total', 'Failures of the swarm thread, by what it was doing.', () => {
    const counts = Object.entries(snapshot()?.counters.failures ?? noCounters.failures)
    return counts.map(([work, value]) => ({ labels: { work }, value }))
  })
}

function addPeerMetrics(metrics: Metrics, snapshot: LatestSnapshot): void {
  const perPeer = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    value: (connection: PeerConnection) => number | undefined,
  ): void =>
    metrics.perPeer(type, name, help, () => {
      const connections = snapshot()?.connections ?? []
      return connections.flatMap((connection): Sample[] => {
        const measured = value(connection)
        return measured === undefined ? [] : [{ labels: { peer: nodeIdOfPeer(connection.peer) }, value: measured }]
      })
    })
  perPeer('gauge', 'shoal_peer_missing_events', 'Events that a peer has and this node lacks.', (of) => of.missingHere)
  perPeer('gauge', 'shoal_peer_lag_events', 'Own events that a peer has not stored yet.', (of) => of.missingThere)
  perPeer('gauge', 'shoal_peer_round_trip_seconds', 'The last round trip to a peer.', ({ ping }) =>
    ping === undefined ? undefined : ping.current / 1e6,
  )
  perPeer('gauge', 'shoal_peer_ping_failures', 'Pings in a row without an answer.', ({ ping }) => ping?.failures)
  perPeer(
    'gauge',
    'shoal_peer_clock_skew_seconds',
    'How far the wall clock of a peer is ahead of that of this node.',
    ({ isReady, clockAheadMs }) => (isReady ? clockAheadMs / 1000 : undefined),
  )
  perPeer('gauge', 'shoal_peer_waiting_bytes', 'Bytes that wait to be sent to a peer.', (of) => of.waitingBytes)
  perPeer('gauge', 'shoal_peer_unstored_bytes', 'Bytes of a peer that wait to be stored.', (of) => of.unstoredBytes)
  perPeer('gauge', 'shoal_peer_blocks_asked', 'Blocks of files that a peer was asked for.', (of) => of.blocksAsked)
  perPeer(
    'gauge',
    'shoal_peer_blocks_requested',
    'Blocks of files that a peer has asked for.',
    (of) => of.blocksRequested,
  )
  perPeer('counter', 'shoal_peer_chunks_total', 'Verified chunks of a peer.', (of) => of.chunks)
  perPeer('counter', 'shoal_peer_new_streams_total', 'Streams that a peer has introduced.', (of) => of.newStreams)
  perPeer(
    'counter',
    'shoal_peer_refused_chunks_total',
    'Chunks of a peer that were refused because of the limits of streams.',
    (of) => of.refusedChunks,
  )
  perPeer('counter', 'shoal_peer_sent_bytes_total', 'Bytes of messages to a peer.', (of) => of.sentBytes)
  perPeer('counter', 'shoal_peer_received_bytes_total', 'Bytes of messages of a peer.', (of) => of.receivedBytes)
  perPeer('counter', 'shoal_peer_useful_bytes_total', 'Bytes of new events of a peer.', (of) => of.usefulBytes)
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

/** The addresses of one port belong to one listening socket, per protocol. */
function ports(addresses: readonly string[]): number {
  return new Set(addresses.map((address) => address.replace(/^\/(ip[46])\/.*\/tcp\//, '$1/'))).size
}
