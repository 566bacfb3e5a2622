import { formatStreamId, type NodeId, nodeIdOf } from '../../identity/index.ts'
import type { StreamKey } from '../../protocol/index.ts'
import { nameOfStream, PeerStatuses, type PeerStatusOptions } from '../../replication/index.ts'
import type { TableRow } from '../../sync/index.ts'
import type { Replicator } from '../exchange/replicator.ts'
import type { PeerState } from '../exchange/replicator-options.ts'
import { nodeIdOfPeer } from '../peers/index.ts'
import type { PeerConnection, SwarmSnapshot } from '../snapshot.ts'

type Missing = Pick<PeerConnection, 'missingHere' | 'missingThere'>

/** The last offsets by stream ID. */
type Offsets = Record<string, number>

/** What nodes have, compared with each other. */
export interface Progress extends Pick<SwarmSnapshot, 'statuses' | 'peerOffsets'> {
  /** By peer. */
  readonly missing: ReadonlyMap<string, Missing>
}

/** What is stored here. */
interface Here {
  readonly rows: ReadonlyMap<string, TableRow>
  readonly offsets: Offsets
}

/** Compares what is stored with what the peers say that they have. */
export class ReplicationProgress {
  readonly #self: string
  readonly #replicator: Pick<Replicator, 'peers' | 'rows' | 'claimsOf'>
  #statuses: PeerStatuses

  /** @param self the public key of this node as latin1 */
  constructor(self: string, replicator: Pick<Replicator, 'peers' | 'rows' | 'claimsOf'>, options: PeerStatusOptions) {
    this.#self = self
    this.#replicator = replicator
    this.#statuses = new PeerStatuses(options)
  }

  set options(options: PeerStatusOptions) {
    this.#statuses = new PeerStatuses(options)
  }

  at(now: number): Progress {
    const here = this.#here()
    const peers = this.#replicator.peers().filter(({ isReady }) => isReady)
    this.#statuses.told(nodeIdOfPeer(this.#self), here.offsets, now)
    const peerOffsets: Offsets = {}
    const missing = new Map<string, Missing>()
    for (const peer of peers) {
      const offsets = this.#offsetsOf(peer, here)
      this.#statuses.told(nodeIdOfPeer(peer.name), offsets, now)
      missing.set(peer.name, {
        missingHere: this.#missingHere(peer.name, here, peerOffsets),
        missingThere: this.#missingThere(here, peer),
      })
    }
    const statuses = this.#statuses.at(now) as SwarmSnapshot['statuses']
    const known = new Set([this.#self, ...peers.map(({ name }) => name)].map(nodeIdOfPeer))
    for (const node of Object.keys(statuses)) if (!known.has(node as NodeId)) this.#statuses.forget(node)
    return { statuses, peerOffsets, missing }
  }

  #here(): Here {
    const rows = new Map<string, TableRow>()
    const offsets: Offsets = {}
    for (const row of this.#replicator.rows()) {
      rows.set(nameOfStream(row.key), row)
      if (row.count > 0) offsets[streamId(row.key)] = row.count - 1
    }
    return { rows, offsets }
  }

  /** What a peer has, as far as it is known. */
  #offsetsOf({ name, hasSameHeads, stored }: PeerState, here: Here): Offsets {
    // A peer only tells what differs.
    const offsets = hasSameHeads ? { ...here.offsets } : {}
    const raise = (stream: string, count: number): void => {
      if (count > 0) offsets[stream] = Math.max(offsets[stream] ?? -1, count - 1)
    }
    for (const { stream, count } of this.#replicator.claimsOf(name)) raise(streamId(stream), count)
    const node = nodeIdOfPeer(this.#self)
    for (const [number, count] of stored) raise(formatStreamId({ node, number: BigInt(number) }), count)
    return offsets
  }

  /** The number of events that only the peer has. Adds their last offsets to `peerOffsets`. */
  #missingHere(peer: string, { rows }: Here, peerOffsets: Offsets): number {
    let missing = 0
    for (const { stream, count } of this.#replicator.claimsOf(peer)) {
      const stored = rows.get(nameOfStream(stream))?.count ?? 0
      if (count <= stored) continue
      missing += count - stored
      const id = streamId(stream)
      peerOffsets[id] = Math.max(peerOffsets[id] ?? -1, count - 1)
    }
    return missing
  }

  /** The number of own events that a peer has not said to have stored. */
  #missingThere({ rows }: Here, { stored, hasSameHeads }: PeerState): number {
    if (hasSameHeads) return 0
    let missing = 0
    for (const { key, count } of rows.values())
      if (Buffer.from(key.node).toString('latin1') === this.#self)
        missing += Math.max(0, count - (stored.get(key.number) ?? 0))
    return missing
  }
}

function streamId({ node, number }: StreamKey): string {
  return formatStreamId({ node: nodeIdOf(node), number: BigInt(number) })
}
