import type { SwarmInfo } from '../api/index.ts'
import type { OffsetMap } from '../events/index.ts'
import type { NodeId } from '../identity/index.ts'
import type { SwarmSnapshot } from '../swarm/index.ts'

/** What the node knows about the swarm; undefined while the swarm thread has told nothing. */
export type LatestSnapshot = () => SwarmSnapshot | undefined

/** What `GET /api/v2/node/info` says about the swarm. */
export function swarmInfo(node: NodeId, latest: LatestSnapshot | undefined): SwarmInfo {
  // A node without a swarm keeps up with itself.
  if (latest === undefined) return { connectedNodes: 0, peersStatus: { [node]: 'LowLatency' } }
  const snapshot = latest()
  return { connectedNodes: snapshot?.connections.length ?? 0, peersStatus: snapshot?.statuses ?? {} }
}

/** By stream: the highest offset that another node is known to have. */
export function peerOffsets(snapshot: SwarmSnapshot | undefined): OffsetMap {
  return snapshot?.peerOffsets ?? {}
}

/** By how many microseconds the own wall clock is ahead of those of the connected peers. */
export function aheadOfPeers(snapshot: SwarmSnapshot | undefined): readonly number[] {
  const ready = snapshot?.connections.filter(({ isReady }) => isReady) ?? []
  return ready.map(({ clockAheadMs }) => -1000 * clockAheadMs)
}
