import { limits } from '../base/limits.ts'
import { fullHead, MalformedBytes } from '../protocol/index.ts'
import { Answers } from './answers.ts'
import { CatchUp } from './catch-up.ts'
import { Disputes } from './disputes.ts'
import type { ApplyEvidenceEffect, ApplyRecordsEffect, Effect, ReadResult, StoreEffect } from './effects.ts'
import type { TableRow } from './head-table.ts'
import type {
  ChainPoint,
  CloseReason,
  DigestMessage,
  Hello,
  Message,
  NothingReason,
  OwnHeads,
  Records,
} from './messages.ts'
import { type ApplyOutcome, Outcomes, type StoreOutcome } from './outcomes.ts'
import { Peer } from './peer.ts'
import { Reports } from './reports.ts'
import { Spread } from './spread.ts'
import { type SyncOptions, SyncState, send } from './sync-state.ts'

const protocolVersion = 1
const answerKinds: ReadonlySet<Message['is']> = new Set(['chunk', 'records', 'evidence', 'located', 'nothing'])

/**
 * What a node tells its peers of a topic and asks them for. A state machine: it is told what happens and when, and
 * returns what to do. It has no clock, timers, sockets or store. Times are milliseconds of a monotonic clock.
 */
export class Sync {
  readonly #state: SyncState
  readonly #answers: Answers
  readonly #disputes: Disputes
  readonly #catchUp: CatchUp
  readonly #spread: Spread
  readonly #reports: Reports
  readonly #outcomes: Outcomes

  constructor(options: SyncOptions, now: number) {
    this.#state = new SyncState(options)
    this.#answers = new Answers(this.#state)
    this.#disputes = new Disputes(this.#state)
    this.#catchUp = new CatchUp(this.#state, {
      startParting: (peer, name, at) => this.#disputes.start(peer, name, at),
      closeBadHead: (peer, at) => this.#close(peer, 'badHead', at),
    })
    this.#spread = new Spread(this.#state)
    this.#reports = new Reports(this.#state, now)
    this.#outcomes = new Outcomes(this.#state, {
      catchUp: this.#catchUp,
      disputes: this.#disputes,
      spread: this.#spread,
      reports: this.#reports,
      close: (name, reason, at) => this.refused(name, reason, at),
    })
  }

  /** When `tick` has to be called next. */
  get wakeAt(): number {
    const { requests, peers } = this.#state
    let at = Math.min(this.#reports.wakeAt, this.#spread.wakeAt, requests.nextDeadline, this.#catchUp.wakeAt)
    for (const { isReady, helloBy } of peers.values()) if (!isReady) at = Math.min(at, helloBy)
    return at
  }

  connected(name: string, now: number): Effect[] {
    this.#state.peers.set(name, new Peer(name, now, now + limits.helloTimeoutMs))
    const time = this.#state.options.wallClock()
    return [send(name, { is: 'hello', version: protocolVersion, features: [], required: [], time })]
  }

  disconnected(name: string, now: number): Effect[] {
    if (!this.#state.peers.delete(name)) return []
    for (const request of this.#state.requests.ofPeer(name)) {
      this.#disputes.close(request)
      this.#catchUp.again(request.name)
    }
    this.#spread.neighboursChanged(now)
    return this.#catchUp.ask(now)
  }

  /** So much waits to be sent to a peer that new events are left out, or that is over. */
  congested(name: string, isCongested: boolean): void {
    const peer = this.#state.peers.get(name)
    if (peer !== undefined) peer.isCongested = isCongested
  }

  /** What the store has of a stream: at the start, and after a change that peers need not be told about. */
  changed(row: TableRow): void {
    this.#state.table.set(row)
  }

  /** Own events were committed; `chunk` is undefined when they are too many to be sent at once. */
  appended(row: TableRow, chunk: Uint8Array | undefined): Effect[] {
    this.#state.table.set(row)
    return this.#spread.appended(row, chunk)
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
    peer.heardAt = now
    // Answers come one after the other: while one arrives, the others are on their way.
    if (answerKinds.has(message.is)) this.#state.requests.extendAll(name, now)
    try {
      return this.#handle(peer, message, now)
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

  /** The records for a peer were read. */
  readRecords(peer: string, id: number, records: Records): Effect[] {
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
    const request = this.#state.requests.get(peer, id, 'parting')
    return request === undefined ? [] : this.#disputes.listed(request, points, now)
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

  /** A peer has sent something that no honest node would send. */
  refused(name: string, reason: CloseReason, now: number): Effect[] {
    const peer = this.#state.peers.get(name)
    return peer === undefined ? [] : this.#close(peer, reason, now)
  }

  /** Time has passed. */
  tick(now: number): Effect[] {
    const { requests, peers, options } = this.#state
    const effects: Effect[] = []
    const silentFrom = now - limits.silentIntervals * options.gossipMs
    for (const peer of [...peers.values()])
      if (peer.isReady ? peer.heardAt < silentFrom : peer.helloBy <= now)
        effects.push(...this.#close(peer, 'silent', now))
    for (const request of requests.expired(now)) {
      this.#disputes.close(request)
      this.#catchUp.later(request.peer, request.name, now)
    }
    effects.push(...this.#spread.tick(now), ...this.#reports.tick(now))
    return [...effects, ...this.#catchUp.ask(now)]
  }

  /** What was last known of a stream here. */
  rowOf(name: string): TableRow | undefined {
    return this.#state.table.get(name)
  }

  /** The peers, for the status of a node. */
  peers(): readonly Pick<Peer, 'name' | 'isReady' | 'clockAhead' | 'roundTripMs' | 'stored'>[] {
    return [...this.#state.peers.values()]
  }

  #handle(peer: Peer, message: Message, now: number): Effect[] {
    if (message.is === 'hello') return this.#greeted(peer, message, now)
    // What comes before the hello is of a peer that does not follow the protocol.
    if (!peer.isReady) return this.#close(peer, 'malformedMessage', now)
    const { requests, table } = this.#state
    switch (message.is) {
      case 'neighbours':
        this.#spread.neighbours(peer, message)
        return []
      case 'digest':
        return this.#compared(peer, message)
      case 'buckets': {
        const differing = table.differing(message.digests)
        return differing.length === 0 ? [] : this.#spread.headsTo(peer.name, differing, differing)
      }
      case 'heads': {
        const claimed = message.entries.flatMap((entry) => this.#catchUp.claim(peer, entry, now))
        const answered = message.answer.length === 0 ? [] : this.#spread.headsTo(peer.name, message.answer, [])
        return [...claimed, ...answered, ...this.#catchUp.ask(now)]
      }
      case 'want':
      case 'want-records':
      case 'want-evidence':
      case 'locate':
        return this.#answers.start(peer, message) ?? this.#close(peer, 'tooManyRequests', now)
      case 'chunk': {
        const request = requests.get(peer.name, message.id, 'events')
        // An answer to a request that has timed out is not an error.
        if (request === undefined) return []
        requests.extend(request, now)
        const { id: want, more, chunk } = message
        return [{ do: 'store', from: peer.name, want, more, chunk }]
      }
      case 'nothing':
        return this.#nothing(peer, message.id, message.reason, now)
      case 'push': {
        const claimed = this.#catchUp.claimPushed(peer, message.chunk, now)
        return [...claimed, { do: 'store', from: peer.name, want: undefined, more: false, chunk: message.chunk }]
      }
      case 'records':
        if (message.id !== 0 && requests.get(peer.name, message.id) === undefined) return []
        return [{ do: 'apply-records', from: peer.name, records: message }]
      case 'evidence': {
        const request = requests.get(peer.name, message.id, 'evidence')
        const stream = request && peer.claims.get(request.name)?.stream
        if (stream === undefined) return []
        return [{ do: 'apply-evidence', from: peer.name, want: message.id, stream, record: message.record }]
      }
      case 'located': {
        const request = requests.get(peer.name, message.id, 'parting')
        return request === undefined ? [] : this.#disputes.located(request, message.count, now)
      }
      case 'stored':
        this.#reports.peerStored(peer, message)
        return []
      case 'ping':
        return [send(peer.name, { is: 'pong', id: message.id })]
      case 'pong':
        this.#reports.pong(peer, message, now)
        return []
      case 'want-own':
        return [this.#spread.ownHeadsTo(peer.name)]
      case 'own-heads':
        return this.#comparedOwn(peer, message, now)
      case 'addresses':
        return [{ do: 'learned-addresses', peer: peer.name, nodes: message.nodes }]
    }
  }

  #greeted(peer: Peer, { required, time }: Hello, now: number): Effect[] {
    if (required.length > 0) return this.#close(peer, 'unknownRequiredFeature', now)
    if (peer.isReady) return []
    peer.isReady = true
    peer.clockAhead = time - this.#state.options.wallClock()
    this.#spread.neighboursChanged(now)
    return [this.#reports.digestTo(peer.name), ...this.#reports.askOwn(peer.name)]
  }

  /** A peer says all that it has of the own streams. */
  #comparedOwn(peer: Peer, { entries }: OwnHeads, now: number): Effect[] {
    if (!this.#state.options.isInDoubt()) return []
    const claimed = entries.flatMap((entry) => this.#catchUp.claim(peer, entry, now))
    const heads = entries.flatMap((entry) => (entry.isFrozen ? [] : [fullHead(entry.head, this.#state.options.topic)]))
    return [...claimed, { do: 'compare-own', from: peer.name, heads }, ...this.#catchUp.ask(now)]
  }

  #compared(peer: Peer, { digest, time }: DigestMessage): Effect[] {
    const { table, options } = this.#state
    peer.clockAhead = time - options.wallClock()
    if (Buffer.compare(digest, table.digest()) === 0) return []
    return [send(peer.name, { is: 'buckets', digests: table.buckets() })]
  }

  #nothing(peer: Peer, id: number, reason: NothingReason, now: number): Effect[] {
    const request = this.#state.requests.get(peer.name, id)
    if (request === undefined) return []
    this.#disputes.close(request)
    // The peer has other frames there, so the two chains differ before.
    if (reason === 'notABorder' && request.kind === 'events' && !request.isDispute)
      return this.#disputes.start(peer, request.name, now)
    const claim = peer.claims.get(request.name)
    if (reason === 'pruned' && claim !== undefined) claim.areRecordsKnown = false
    this.#catchUp.later(peer.name, request.name, now, request.isDispute ? limits.disputeRetryMs : undefined)
    return this.#catchUp.ask(now)
  }

  #close(peer: Peer, reason: CloseReason, now: number): Effect[] {
    return [{ do: 'close', peer: peer.name, reason }, ...this.disconnected(peer.name, now)]
  }
}
