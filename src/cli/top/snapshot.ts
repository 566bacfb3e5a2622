import type { Inspected } from '../../admin/index.ts'
import { nodeIdOf, parsePeerId } from '../../identity/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { MetricsText } from '../client/metrics-text.ts'
import type { NodeClient } from '../client/node-client.ts'
import { readMetrics } from '../client/node-metrics.ts'

/** A node at one moment. Counters only grow, unless the node was restarted. */
export interface Snapshot {
  /** Milliseconds of the monotonic clock of the command. */
  readonly atMs: number
  readonly nodeId: string
  readonly displayName: string
  readonly phase: string
  readonly uptimeSeconds: number
  readonly counters: Readonly<Record<'published' | 'received' | 'queries' | 'cpuSeconds', number>>
  readonly runningQueries: number
  readonly subscriptions: number
  readonly storeBytes: number
  readonly filesBytes: number
  /** On the disk of the data folder. */
  readonly freeBytes: number
  readonly memoryBytes: number
  readonly peers: readonly PeerSnapshot[]
}

export interface PeerSnapshot {
  readonly nodeId: string
  readonly name: string
  /** Own events that it has not stored. */
  readonly lag: number
  /** Its events that are missing here. */
  readonly missing: number
  readonly roundTripSeconds: number | undefined
}

interface Described {
  readonly nodeId: string
  readonly displayName: string
  readonly phase: string
  readonly startedUnix: number
}

export async function takeSnapshot(node: NodeClient, { clock, timers }: Runtime): Promise<Snapshot> {
  const described = await node.request<Described>({ method: 'GET', path: '/node' })
  const inspected = await node.request<Inspected>({ method: 'GET', path: '/node/inspect' })
  const metrics = await readMetrics(node, timers)
  return snapshotOf(described, inspected, metrics, { atMs: clock.steadyMs(), unix: clock.now() / 1e6 })
}

function snapshotOf(
  { nodeId, displayName, phase, startedUnix }: Described,
  inspected: Inspected,
  metrics: MetricsText,
  { atMs, unix }: { atMs: number; unix: number },
): Snapshot {
  const value = (name: string): number => metrics.total(name) ?? 0
  return {
    atMs,
    nodeId,
    displayName,
    phase,
    uptimeSeconds: Math.max(0, unix - startedUnix),
    counters: {
      published: value('shoal_events_published_total'),
      received: value('shoal_swarm_stored_events_total'),
      queries: value('shoal_query_duration_seconds_count'),
      cpuSeconds: value('process_cpu_seconds_total'),
    },
    runningQueries: value('shoal_queries'),
    subscriptions: value('shoal_subscriptions'),
    storeBytes: value('block_store_size'),
    filesBytes: value('shoal_files_bytes'),
    freeBytes: value('shoal_disk_free_bytes'),
    memoryBytes: value('process_resident_memory_bytes'),
    peers: peersIn(metrics, namesOf(inspected)),
  }
}

function peersIn(metrics: MetricsText, names: ReadonlyMap<string, string>): PeerSnapshot[] {
  const lag = metrics.by('shoal_peer_lag_events', 'peer')
  const missing = metrics.by('shoal_peer_missing_events', 'peer')
  const roundTrips = metrics.by('shoal_peer_round_trip_seconds', 'peer')
  return Object.keys(lag).map((nodeId) => ({
    nodeId,
    name: names.get(nodeId) ?? '',
    lag: lag[nodeId] ?? 0,
    missing: missing[nodeId] ?? 0,
    roundTripSeconds: roundTrips[nodeId],
  }))
}

/** The display names of connected nodes by node ID. */
function namesOf({ connections, knownPeers }: Inspected): ReadonlyMap<string, string> {
  const connected = new Set(connections.map(({ peerId }) => peerId))
  const named = knownPeers.filter(({ peerId }) => connected.has(peerId))
  return new Map(named.map(({ peerId, info }) => [nodeIdOf(parsePeerId(peerId)), info.agentVersion]))
}
