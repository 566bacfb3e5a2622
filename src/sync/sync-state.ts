import type { StreamKey } from '../protocol/index.ts'
import type { ClaimState } from './claim.ts'
import type { Effect } from './effects.ts'
import { HeadTable } from './head-table.ts'
import { KnownHeads } from './known-heads.ts'
import type { Message } from './messages.ts'
import { nameOfNode, type Peer } from './peer.ts'
import { Requests } from './requests.ts'

/** Intervals and time-outs of the settings. */
export interface SyncTimes {
  /** Milliseconds between two digests to a peer. */
  readonly gossipMs: number
  /** Milliseconds within which something has to be heard from a peer after a ping. */
  readonly pingTimeoutMs: number
}

export interface SyncOptions extends SyncTimes {
  readonly topic: string
  /** The public key of this node. */
  readonly node: Uint8Array
  /** Whether this node only receives, see `Sync.setReadOnly`. */
  readonly isReadOnly: boolean
  /** A random number from 0 to before 1. */
  readonly random: () => number
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly wallClock: () => number
  /** Whether peers may have more of the own streams: after a doubtful start they are asked, and events are adopted. */
  readonly isInDoubt: () => boolean
}

/** What the parts of `Sync` share. */
export class SyncState {
  readonly options: SyncOptions
  /** The public key of this node, as latin1. */
  readonly ownName: string
  readonly table: HeadTable
  readonly peers = new Map<string, Peer>()
  readonly requests = new Requests()
  readonly knownHeads: KnownHeads
  /** Whether this node only receives, and tells others nothing of its own streams. */
  isReadOnly: boolean
  times: SyncTimes

  constructor(options: SyncOptions) {
    this.options = options
    this.ownName = nameOfNode(options.node)
    this.isReadOnly = options.isReadOnly
    this.times = options
    this.table = new HeadTable(options.topic, (stream) => !this.isHidden(stream))
    this.knownHeads = new KnownHeads(options.topic)
  }

  /** The peers that have introduced themselves. */
  *ready(): Generator<Peer> {
    for (const peer of this.peers.values()) if (peer.isReady) yield peer
  }

  isOwn({ node }: StreamKey): boolean {
    return Buffer.compare(node, this.options.node) === 0
  }

  /** Whether it is an own stream that other nodes are not told about. */
  isHidden(stream: StreamKey): boolean {
    return this.isReadOnly && this.isOwn(stream)
  }

  /** Whether it is an own stream that may be longer elsewhere. */
  isInDoubtOf(stream: StreamKey): boolean {
    return this.options.isInDoubt() && this.isOwn(stream)
  }

  /** Changes what is remembered about the claim of a peer; that of other peers stays. */
  changeClaim(peer: string, name: string, change: Partial<ClaimState>): void {
    const claims = this.peers.get(peer)?.claims
    const claim = claims?.get(name)
    if (claim !== undefined) claims?.set(name, { ...claim, ...change })
  }

  countOf(name: string): number {
    return this.table.get(name)?.count ?? 0
  }
}

export function send(to: string, message: Message): Effect {
  return { do: 'send', to, message }
}
