import { limits } from '../base/limits.ts'
import { MalformedBytes, type StreamKey } from '../protocol/index.ts'
import { nameOfStream } from '../replication/index.ts'
import { Answers } from './answers.ts'
import { CatchUp } from './catch-up.ts'
import type { Claim } from './claim.ts'
import type { ApplyEvidenceEffect, ApplyRecordsEffect, Effect, ReadResult, StoreEffect } from './effects.ts'
import { ForkSearches } from './fork-searches.ts'
import type { TableRow } from './head-table.ts'
import { Liveness } from './liveness.ts'
import { bulkPushFeature, MessageHandler } from './message-handler.ts'
import type { ChainPoint, CloseReason, Message, Records } from './messages.ts'
import { type ApplyOutcome, Outcomes, type StoreOutcome } from './outcomes.ts'
import { Peer } from './peer.ts'
import { Reports } from './reports.ts'
import { Spread } from './spread.ts'
import { type SyncOptions, SyncState, type SyncTimes, send } from './sync-state.ts'

const protocolVersion = 1
const answerKinds: ReadonlySet<Message['is']> = new Set(['chunk', 'records', 'evidence', 'located', 'nothing'])

/**
 * What a node tells its peers of a topic and asks them for. A state machine: it is told what happens and when, and
 * returns what to do. It has no clock, timers, sockets or store. Times are milliseconds of a monotonic clock.
 */
export class Sync {
  readonly #state: SyncState
  readonly #answers: Answers
  readonly #forkSearches: ForkSearches
  readonly #catchUp: CatchUp
  readonly #spread: Spread
  readonly #liveness: Liveness
  readonly #reports: Reports
  readonly #outcomes: Outcomes
  readonly #messages: MessageHandler

  constructor(options: SyncOptions, now: number) {
    this.#state = new SyncState(options)
    this.#answers = new Answers(this.#state)
    this.#forkSearches = new ForkSearches(this.#state)
    this.#catchUp = new CatchUp(this.#state, {
      startForkSearch: (peer, name, at) => this.#forkSearches.start(peer, name, at),
      closeBadHead: (peer, at) => this.#close(peer, 'badHead', at),
    })
    this.#spread = new Spread(this.#state)
    this.#liveness = new Liveness(this.#state)
    this.#reports = new Reports(this.#state, this.#liveness, now)
    const parts = {
      catchUp: this.#catchUp,
      forkSearches: this.#forkSearches,
      spread: this.#spread,
      reports: this.#reports,
      close: (name: string, reason: CloseReason, at: number) => this.disconnect(name, reason, at),
    }
    this.#outcomes = new Outcomes(this.#state, parts)
    this.#messages = new MessageHandler(this.#state, { ...parts, answers: this.#answers, liveness: this.#liveness })
  }

  /** When `tick` has to be called next. */
  get wakeAt(): number {
    const { requests } = this.#state
    const { wakeAt } = this.#liveness
    return Math.min(wakeAt, this.#reports.wakeAt, this.#spread.wakeAt, requests.nextDeadline, this.#catchUp.wakeAt)
  }

  connected(name: string, now: number): Effect[] {
    const peer = new Peer(name, now, now + limits.helloTimeoutMs)
    this.#state.peers.set(name, peer)
    this.#liveness.connected(peer)
    const time = this.#state.options.wallClock()
    return [send(name, { is: 'hello', version: protocolVersion, features: [bulkPushFeature], required: [], time })]
  }

  disconnected(name: string, now: number): Effect[] {
    if (!this.#state.peers.delete(name)) return []
    for (const request of this.#state.requests.ofPeer(name)) this.#forkSearches.close(request)
    this.#catchUp.disconnected(name)
    this.#spread.neighboursChanged(now)
    return this.#catchUp.ask(now)
  }

  /** So much waits to be sent to a peer that new events are left out, or that is over. */
  congested(name: string, isCongested: boolean): Effect[] {
    const peer = this.#state.peers.get(name)
    if (peer === undefined) return []
    peer.isCongested = isCongested
    return this.#makeUp(peer)
  }

  /** So many answers wait to be sent to a peer that it is not compared with, or that is over. New events are sent. */
  syncCongested(name: string, isCongested: boolean): Effect[] {
    const peer = this.#state.peers.get(name)
    if (peer === undefined) return []
    peer.isSyncCongested = isCongested
    return this.#makeUp(peer)
  }

  /** Something of a peer waits to be stored, or nothing any more. While it does, the peer need not be heard. */
  inputWaits(name: string, isWaiting: boolean, now: number): void {
    const peer = this.#state.peers.get(name)
    if (peer === undefined) return
    peer.hasWaitingInput = isWaiting
    this.bytesArrived(name, now)
  }

  /** Bytes of a peer have arrived, though not a whole message. */
  bytesArrived(name: string, now: number): void {
    const peer = this.#state.peers.get(name)
    if (peer === undefined) return
    peer.heard(now)
    this.#state.requests.extendAll(name, now)
  }

  /** Intervals and time-outs that have changed; they count from now on. */
  setTimes(times: SyncTimes, now: number): void {
    this.#state.times = times
    this.#reports.retime(now)
  }

  /** Whether this node only receives, and tells nothing of its own streams. */
  get isReadOnly(): boolean {
    return this.#state.isReadOnly
  }

  /** From now on this node only receives, and tells nothing of its own streams, or tells all of them. */
  setReadOnly(isReadOnly: boolean): Effect[] {
    if (this.#state.isReadOnly === isReadOnly) return []
    this.#state.isReadOnly = isReadOnly
    this.#state.table.show()
    return isReadOnly || this.#state.options.isInDoubt() ? [] : this.#spread.ownStreams()
  }

  /** What the store has of a stream: at the start, and after a change that peers need not be told about. */
  changed(row: TableRow): void {
    this.#state.table.set(row)
  }

  /**
   * Own events were committed.
   * @param first the offset of the first one
   * @param chunk undefined when they are too many to be sent at once
   */
  appended(row: TableRow, first: number, chunk: Uint8Array | undefined): Effect[] {
    this.#state.table.set(row)
    return this.#spread.appended(row, first, chunk)
  }

  /** A stream of another node was removed from the store, which has this of it again, or nothing: it is fetched again. */
  forgot(stream: StreamKey, row: TableRow | undefined, now: number): Effect[] {
    const name = nameOfStream(stream)
    const request = this.#state.requests.ofStream(name)
    if (request !== undefined) this.#forkSearches.close(request)
    this.#state.table.delete(stream)
    if (row !== undefined) this.#state.table.set(row)
    this.#catchUp.lookAgain(name)
    return this.#catchUp.ask(now)
  }

  /** This node has pruned or redacted events of an own stream. */
  removed(row: TableRow, records: Records): Effect[] {
    this.#state.table.set(row)
    return this.#spread.records(records)
  }

  /** A message of a peer has arrived. */
  received(name: string, message: Message, now: number): Effect[] {
    const peer = this.#state.peers.get(name)
    if (peer === undefined) return []
    peer.heard(now)
    // Answers come one after the other: while one arrives, the others are on their way.
    if (answerKinds.has(message.is)) this.#state.requests.extendAll(name, now)
    try {
      return this.#messages.handle(peer, message, now)
    } catch (error) {
      if (error instanceof MalformedBytes) return this.#close(peer, 'malformedMessage', now)
      throw error
    }
  }

  /** The events for a peer were read. */
  read(peer: string, id: number, result: ReadResult): Effect[] {
    return this.#answers.events(peer, id, result)
  }

  /** What a peer has asked for could not be read. */
  cannotAnswer(peer: string, id: number): Effect[] {
    return this.#answers.events(peer, id, { nothing: 'notHere' })
  }

  /** A peer has repeated a request that waited to be read. */
  superseded(peer: string, id: number): Effect[] {
    return this.#answers.superseded(peer, id)
  }

  /** The records for a peer were read; undefined when their stream is not here. */
  readRecords(peer: string, id: number, records: Records | undefined): Effect[] {
    return this.#answers.records(peer, id, records)
  }

  /** The evidence for a peer was read; undefined when there is none. */
  readEvidence(peer: string, id: number, record: Uint8Array | undefined): Effect[] {
    return this.#answers.evidence(peer, id, record)
  }

  /** The points of a peer were compared. */
  foundCommon(peer: string, id: number, count: number): Effect[] {
    return this.#answers.common(peer, id, count)
  }

  /** Own checkpoints were listed. */
  listedPoints(peer: string, id: number, points: readonly ChainPoint[], now: number): Effect[] {
    const request = this.#state.requests.get(peer, id, 'fork')
    return request === undefined ? [] : this.#forkSearches.listed(request, points, now)
  }

  /** A chunk was given to the store. `row` is that of its stream now. */
  stored(effect: StoreEffect, outcome: StoreOutcome, row: TableRow | undefined, now: number): Effect[] {
    return this.#outcomes.stored(effect, outcome, row, now)
  }

  /** Records were given to the store. `row` is that of their stream now. */
  appliedRecords(effect: ApplyRecordsEffect, outcome: ApplyOutcome, row: TableRow | undefined, now: number): Effect[] {
    return this.#outcomes.appliedRecords(effect, outcome, row, now)
  }

  /** The evidence of a fork was given to the store. `row` is that of its stream now. */
  appliedEvidence(
    effect: ApplyEvidenceEffect,
    outcome: ApplyOutcome,
    row: TableRow | undefined,
    now: number,
  ): Effect[] {
    return this.#outcomes.appliedEvidence(effect, outcome, row, now)
  }

  /** Ends the session with a peer. */
  disconnect(name: string, reason: CloseReason, now: number): Effect[] {
    const peer = this.#state.peers.get(name)
    return peer === undefined ? [] : this.#close(peer, reason, now)
  }

  /** Time has passed. */
  tick(now: number): Effect[] {
    const { requests, peers } = this.#state
    if (now - this.wakeAt >= limits.stallMs) {
      this.#liveness.stalled(now)
      requests.stalled(now)
    }
    const { pings, silent } = this.#liveness.tick(now)
    const effects = [...pings, ...silent.flatMap((peer) => this.#close(peer, 'silent', now))]
    for (const request of requests.expired(now)) {
      // Its answer may be in what waits to be stored, or behind it.
      if (peers.get(request.peer)?.hasWaitingInput === true && requests.extend(request, now)) continue
      this.#forkSearches.close(request)
      this.#catchUp.askLater(request.peer, request.name, now)
    }
    effects.push(...this.#spread.tick(now), ...this.#reports.tick(now))
    return [...effects, ...this.#catchUp.ask(now)]
  }

  /** What was last known of a stream here. */
  rowOf(name: string): TableRow | undefined {
    return this.#state.table.get(name)
  }

  /** The peers, for the status of a node. */
  peers(): readonly Pick<
    Peer,
    'name' | 'isReady' | 'isCongested' | 'clockAhead' | 'roundTripMs' | 'stored' | 'hasSameHeads'
  >[] {
    return [...this.#state.peers.values()]
  }

  /** What is stored here of all streams, as far as it is known. */
  rows(): Iterable<TableRow> {
    return this.#state.table.all()
  }

  /** What a peer has said to have. */
  claimsOf(name: string): Iterable<Pick<Claim, 'stream' | 'count'>> {
    return this.#state.peers.get(name)?.claims.values() ?? []
  }

  /** Whether a peer has said that it is connected to another node. */
  areConnected(name: string, other: string): boolean {
    return this.#state.peers.get(name)?.neighbours.has(other) === true
  }

  /** Compares a peer that is congested no more, if something was not sent to it. */
  #makeUp(peer: Peer): Effect[] {
    if (!peer.isReady || !peer.hasMissed || !peer.takesComparisons) return []
    peer.hasMissed = false
    return [this.#reports.digestTo(peer.name)]
  }

  #close(peer: Peer, reason: CloseReason, now: number): Effect[] {
    return [{ do: 'close', peer: peer.name, reason }, ...this.disconnected(peer.name, now)]
  }
}
