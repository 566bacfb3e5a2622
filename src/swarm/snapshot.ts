import type { NodeId } from '../identity/index.ts'
import type { PeerStatus } from '../replication/index.ts'
import type { KnownPeer } from './peers/index.ts'

/**
 * What the swarm thread tells the main thread about the swarm. Plain data, which is copied between threads. Peers are
 * named by their public keys as latin1. Times are milliseconds of the monotonic clock of that thread, and of no other.
 */
export interface SwarmSnapshot {
  /** One moment on both clocks, to convert times: milliseconds since the Unix epoch, and of the monotonic clock. */
  readonly wallMs: number
  readonly steadyMs: number
  /** The multiaddrs at which this node listens, without peer ID; those of the interfaces instead of a wildcard. */
  readonly listenAddresses: readonly string[]
  /** The configured multiaddrs that are told to peers, too. */
  readonly announcedAddresses: readonly string[]
  /** Other multiaddrs at which peers have reached this node. */
  readonly observedAddresses: readonly string[]
  /** One entry per peer with a connection. */
  readonly connections: readonly PeerConnection[]
  /** Known peers with their addresses and last failures, connected or not. */
  readonly knownPeers: readonly KnownPeer[]
  /** How well nodes keep up, this one included; empty until it is known. */
  readonly statuses: Readonly<Record<NodeId, PeerStatus>>
  /** By stream ID: the highest offset that a peer has said to have, of streams of which this node has less. */
  readonly peerOffsets: Readonly<Record<string, number>>
  readonly counters: SwarmCounters
}

/** The connection to a peer. */
export interface PeerConnection {
  readonly peer: string
  readonly direction: 'inbound' | 'outbound'
  /** The remote multiaddr. */
  readonly address: string
  readonly since: number
  /** The display name of the peer; undefined until it has told it. */
  readonly agent: string | undefined
  /** Whether its hello has arrived. */
  readonly isReady: boolean
  /** Whether so much waits to be sent to it that new events are left out. */
  readonly isCongested: boolean
  /** Bytes of messages of this connection. */
  readonly sentBytes: number
  readonly receivedBytes: number
  /** Bytes of events from this peer that were new and are stored. */
  readonly usefulBytes: number
  /** Chunks of this peer that were verified, first ones of new streams, and those of streams that were refused. */
  readonly chunks: number
  readonly newStreams: number
  readonly refusedChunks: number
  /** Blocks of files that it was asked for, and that it has asked for, without an answer yet. */
  readonly blocksAsked: number
  readonly blocksRequested: number
  /** Bytes that wait to be sent. */
  readonly waitingBytes: number
  /** Bytes that were received and wait to be verified and stored. */
  readonly unstoredBytes: number
  readonly ping: PingStatistics | undefined
  /** Milliseconds by which its wall clock is ahead of the own one; negative when it is behind. */
  readonly clockAheadMs: number
  /** Events that the peer has and this node has not. */
  readonly missingHere: number
  /** Own events that the peer has not said to have stored. */
  readonly missingThere: number
}

/** Round trips to a peer, as `nodes inspect` shows them. */
export interface PingStatistics {
  /** The last round trip, in microseconds. */
  readonly current: number
  /** Moving averages in microseconds, in which the last round trip counts 30 % and 10 %. */
  readonly decay3: number
  readonly decay10: number
  /** Pings in a row without an answer. */
  readonly failures: number
  /** In millionths. */
  readonly failureRate: number
}

/** Counts since the swarm thread was started. Those by reason have few keys: close reasons and kinds of failures. */
export interface SwarmCounters {
  readonly dials: number
  readonly dialFailures: Readonly<Record<string, number>>
  /** Inbound connections that failed before the peer was known. */
  readonly inboundFailures: Readonly<Record<string, number>>
  readonly closed: Readonly<Record<string, number>>
  /** Errors of listening sockets. */
  readonly listenerErrors: number
  /** How often peers were kept out because of what they sent. */
  readonly keptOut: Readonly<Record<string, number>>
  /** Bytes of messages over all connections, also of those that are closed. */
  readonly sentBytes: number
  readonly receivedBytes: number
  /** Events of other nodes that were stored. */
  readonly storedEvents: number
  readonly failures: SwarmFailures
}

/** Failures of the swarm thread, by what it was doing. */
export interface SwarmFailures {
  /** Reading or writing events for peers. */
  readonly replication: number
  /** Telling peers that events were pruned or redacted. */
  readonly removal: number
  /** Reading or writing blocks of files for peers. */
  readonly blocks: number
  /** Applying changed settings. */
  readonly settings: number
}
