import { tuning } from '../../base/tuning.ts'
import { nowMs } from '../../runtime/clock.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import type { BlockReplicator } from '../exchange/block-replicator.ts'
import type { ProcessedChunk } from '../exchange/processed-input.ts'
import type { Replicator } from '../exchange/replicator.ts'
import { type Dialler, ObservedAddresses } from '../peers/index.ts'
import type { PeerConnection, SwarmSnapshot } from '../snapshot.ts'
import type { Connections } from './connections.ts'
import type { FailureLog } from './failure-log.ts'
import { ReasonCounts } from './reason-counts.ts'
import { type Progress, ReplicationProgress } from './replication-progress.ts'
import type { FromSwarm, SwarmSettings } from './thread-messages.ts'

export interface SnapshotParts {
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  /** The public key of this node as latin1. */
  readonly self: string
  readonly replicator: Pick<Replicator, 'peers' | 'rows' | 'claimsOf'>
  readonly blocks: Pick<BlockReplicator, 'requestsOf'>
  readonly connections: Pick<Connections, 'all' | 'counters'>
  readonly dialler: Pick<Dialler, 'snapshot'>
  readonly failures: Pick<FailureLog, 'counts'>
  readonly settings: SwarmSettings
  readonly post: (message: FromSwarm) => void
}

type ChunkCounts = Pick<PeerConnection, 'usefulBytes' | 'chunks' | 'newStreams' | 'refusedChunks'>

const noChunks: ChunkCounts = { usefulBytes: 0, chunks: 0, newStreams: 0, refusedChunks: 0 }

/** Tells the main thread about the swarm: at most once a second while something changes, and when it asks. */
export class SnapshotSource {
  readonly #parts: SnapshotParts
  readonly #inboundFailures = new ReasonCounts()
  readonly #observed = new ObservedAddresses()
  /** By connected peer. */
  readonly #chunks = new Map<string, ChunkCounts>()
  readonly #comparing: ReplicationProgress
  #settings: SwarmSettings
  #storedEvents = 0
  #progress: Progress = { statuses: {}, peerOffsets: {}, missing: new Map() }
  #compareFrom = Number.NEGATIVE_INFINITY
  #postedAt = Number.NEGATIVE_INFINITY
  #listens: () => readonly string[] = () => []
  #timer: Timer | undefined
  #statusTimer: Timer
  #isStopped = false

  constructor(parts: SnapshotParts) {
    this.#parts = parts
    this.#settings = parts.settings
    this.#comparing = new ReplicationProgress(parts.self, parts.replicator, parts.settings)
    // The status of nodes depends on time, also while nothing changes.
    this.#statusTimer = parts.runtime.timers.setInterval(() => this.changed(), tuning.swarmStatusMs).unref()
  }

  set settings(settings: SwarmSettings) {
    const { lowLatencyMs, highLatencyMs } = this.#settings
    if (settings.lowLatencyMs !== lowLatencyMs || settings.highLatencyMs !== highLatencyMs)
      this.#comparing.options = settings
    this.#settings = settings
    this.changed()
  }

  /** @param addresses where this node listens now */
  listensAt(addresses: () => readonly string[]): void {
    this.#listens = addresses
  }

  /** A peer has connected to this node at an address. */
  observed(peer: string, address: string): void {
    this.#observed.add(peer, address)
    this.changed()
  }

  inboundFailed(reason: string): void {
    this.#inboundFailures.add(reason)
    this.changed()
  }

  /** A chunk of a peer was verified, and stored if it is new. */
  processed(peer: string, { newBytes, newEvents, isNewStream, isRefused }: ProcessedChunk): void {
    this.#storedEvents += newEvents
    const { usefulBytes, chunks, newStreams, refusedChunks } = this.#chunks.get(peer) ?? noChunks
    if (this.#parts.connections.all.has(peer))
      this.#chunks.set(peer, {
        usefulBytes: usefulBytes + newBytes,
        chunks: chunks + 1,
        newStreams: newStreams + Number(isNewStream),
        refusedChunks: refusedChunks + Number(isRefused),
      })
    this.changed()
  }

  /** Posts a snapshot within a second. */
  changed(): void {
    if (this.#timer !== undefined || this.#isStopped) return
    const { clock, timers } = this.#parts.runtime
    const wait = Math.max(0, this.#postedAt + tuning.swarmSnapshotMs - clock.steadyMs())
    this.#timer = timers.setTimeout(() => this.post(), wait).unref()
  }

  /** Posts a snapshot now. */
  post(): void {
    const { clock, timers } = this.#parts.runtime
    timers.clear(this.#timer)
    this.#timer = undefined
    if (this.#isStopped) return
    this.#postedAt = clock.steadyMs()
    this.#parts.post({ is: 'snapshot', snapshot: this.take() })
  }

  take(): SwarmSnapshot {
    const { dialler, connections, failures, runtime } = this.#parts
    this.#compare()
    const { statuses, peerOffsets } = this.#progress
    const [listenAddresses, announcedAddresses] = [this.#listens(), this.#settings.announceAddresses]
    return {
      wallMs: nowMs(runtime.clock),
      steadyMs: runtime.clock.steadyMs(),
      listenAddresses,
      announcedAddresses,
      observedAddresses: this.#observed.without([...listenAddresses, ...announcedAddresses]),
      connections: this.#connections(),
      knownPeers: dialler.snapshot(),
      statuses,
      peerOffsets,
      counters: {
        ...connections.counters,
        inboundFailures: this.#inboundFailures.counts,
        // libp2p reports no errors of listening sockets; a port that cannot be bound is a failed start.
        listenerErrors: 0,
        storedEvents: this.#storedEvents,
        failures: failures.counts,
      },
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of [this.#timer, this.#statusTimer]) this.#parts.runtime.timers.clear(timer)
  }

  #connections(): PeerConnection[] {
    const { replicator, connections, blocks } = this.#parts
    for (const peer of this.#chunks.keys()) if (!connections.all.has(peer)) this.#chunks.delete(peer)
    const states = new Map(replicator.peers().map((peer) => [peer.name, peer]))
    return [...connections.all].map(([peer, { session, since, pings, isCongested, displayName }]) => {
      const state = states.get(peer)
      return {
        peer,
        direction: session.direction,
        address: session.address,
        since,
        agent: displayName,
        isReady: state?.isReady === true,
        isCongested,
        sentBytes: session.sentBytes,
        receivedBytes: session.receivedBytes,
        ...(this.#chunks.get(peer) ?? noChunks),
        ...blocks.requestsOf(peer),
        waitingBytes: session.waitingBytes,
        unstoredBytes: state?.inputBytes ?? 0,
        ping: pings.statistics,
        clockAheadMs: Math.round((state?.clockAhead ?? 0) / 1000),
        missingHere: 0,
        missingThere: 0,
        ...this.#progress.missing.get(peer),
      }
    })
  }

  /** At intervals: in a swarm with many streams it takes long. */
  #compare(): void {
    const { clock } = this.#parts.runtime
    const now = clock.steadyMs()
    if (now < this.#compareFrom) return
    this.#progress = this.#comparing.at(now)
    // At most a fiftieth of the time.
    this.#compareFrom = now + Math.max(tuning.swarmSnapshotMs / 2, 50 * (clock.steadyMs() - now))
  }
}
