import { limits } from '../base/limits.ts'
import { firstOffsetOf, heads, signedHeadOf } from '../protocol/index.ts'
import { nameOfStream, type Received } from '../replication/index.ts'
import type { CatchUp } from './catch-up.ts'
import type { ApplyEvidenceEffect, ApplyRecordsEffect, Effect, StoreEffect } from './effects.ts'
import type { ForkSearches } from './fork-searches.ts'
import type { TableRow } from './head-table.ts'
import type { CloseReason } from './messages.ts'
import { lacksPrune } from './next-step.ts'
import type { Reports } from './reports.ts'
import type { Request } from './requests.ts'
import type { Spread } from './spread.ts'
import { type SyncState, send } from './sync-state.ts'

/** The outcome of storing a chunk. */
export type StoreOutcome =
  | Exclude<Received['state'], 'refused' | 'repaired'>
  /** No honest node would send it. */
  | 'invalid'
  /** There is no room for another stream. */
  | 'noRoom'
  /** The store failed, which is not the fault of the peer. */
  | 'failed'

/** Those of a chunk that does not fit here, or not for a while: the same one would be refused again. */
const unfitOutcomes: ReadonlySet<StoreOutcome> = new Set(['contradicts', 'early', 'noRoom'])

/** The outcome of applying records or evidence. */
export type ApplyOutcome = 'applied' | 'unchanged' | 'invalid' | 'failed'

/** What `Outcomes` tells what follows. */
export interface OutcomeParts {
  readonly catchUp: CatchUp
  readonly forkSearches: ForkSearches
  readonly spread: Spread
  readonly reports: Reports
  readonly close: (peer: string, reason: CloseReason, now: number) => Effect[]
}

/** What follows from what the store says about something that a peer has sent. */
export class Outcomes {
  readonly #state: SyncState
  readonly #parts: OutcomeParts

  constructor(state: SyncState, parts: OutcomeParts) {
    this.#state = state
    this.#parts = parts
  }

  /** A chunk was given to the store. `row` is that of its stream now. */
  stored(effect: StoreEffect, outcome: StoreOutcome, row: TableRow | undefined, now: number): Effect[] {
    const { catchUp, spread, reports, close } = this.#parts
    const { from, want, more, chunk } = effect
    const known = row === undefined ? 0 : this.#state.countOf(nameOfStream(row.key))
    const effects = this.#set(row, from)
    const request = this.#state.requests.get(from, want, 'events')
    if (want === undefined) catchUp.pushStored(from, chunk)
    if (outcome === 'invalid') return [...effects, ...this.#refused(from, want, request, now)]
    const isOther = request !== undefined && row !== undefined && nameOfStream(row.key) !== request.name
    if (isOther) return [...effects, ...close(from, 'badChunk', now)]
    if (row !== undefined && outcome === 'stored') {
      spread.forward(row, isForwarded(effect, known, row) ? chunk : undefined, from, now)
      reports.stored(row.key, row.count, now)
    }
    if (request?.isForkSearch === true) return [...effects, ...this.#searched(request, chunk, outcome, now)]
    const name = request?.name ?? (row && nameOfStream(row.key))
    // An answer that adds nothing is not waited for: it would keep others from being asked.
    if (request !== undefined && !(more && outcome === 'stored')) this.#state.requests.close(request)
    if (name !== undefined) effects.push(...this.#goOn(from, name, outcome, request !== undefined, now))
    if (outcome === 'early' && row !== undefined)
      effects.push({ do: 'report', is: 'too-far-ahead', stream: row.key, peer: from })
    return [...effects, ...catchUp.ask(now)]
  }

  /** A chunk is invalid, which is usually the fault of its sender. */
  #refused(from: string, want: number | undefined, request: Request | undefined, now: number): Effect[] {
    const { catchUp, close } = this.#parts
    // A request is given up when redaction records could not be stored: without them the chunk after them is invalid.
    const isExcused = request === undefined ? want !== undefined : this.#isSettledOwn(request)
    if (!isExcused) return close(from, 'badChunk', now)
    if (request !== undefined) catchUp.giveUp(request, now, limits.unstorableRetryMs)
    return catchUp.ask(now)
  }

  /** How to go on with a stream after a chunk of it. */
  #goOn(from: string, name: string, outcome: StoreOutcome, wasWanted: boolean, now: number): Effect[] {
    const { catchUp, forkSearches } = this.#parts
    const peer = this.#state.peers.get(from)
    const { requests } = this.#state
    const claim = peer?.claims.get(name)
    if (claim?.isFrozen === true && wasWanted && unfitOutcomes.has(outcome)) {
      // What is here is not the start of what the peer has, or cannot be continued now: the evidence does not wait for it.
      // After a chunk that has become known meanwhile, or a gap, there may be more events before the fork.
      this.#state.changeClaim(from, name, { prefix: 'fetched' })
      catchUp.lookAgain(name)
      return []
    }
    const canStart = peer !== undefined && !requests.isBusy(name) && requests.hasRoomFor(from)
    // Without room the events are asked for later, which shows the same.
    if (outcome === 'contradicts' && canStart) return forkSearches.start(peer, name, now)
    if (outcome === 'early' || outcome === 'noRoom') catchUp.askLater(from, name, now, limits.unstorableRetryMs)
    else if (outcome === 'failed') catchUp.askLater(from, name, now, limits.failureRetryMs)
    else if (outcome === 'stored') catchUp.lookAgain(name)
    else if (wasWanted) catchUp.askLater(from, name, now)
    else catchUp.askNow(from, name)
    return []
  }

  /** Whether events of an own stream were asked for: one that was redacted is only adopted after a doubtful start. */
  #isSettledOwn({ peer, name }: Request): boolean {
    const stream = this.#state.peers.get(peer)?.claims.get(name)?.stream
    return stream !== undefined && this.#state.isOwn(stream) && !this.#state.options.isInDoubt()
  }

  /** Records were given to the store. `row` is that of their stream now. */
  appliedRecords(
    { from, records }: ApplyRecordsEffect,
    outcome: ApplyOutcome,
    row: TableRow | undefined,
    now: number,
  ): Effect[] {
    const { catchUp, spread, close } = this.#parts
    const effects = this.#set(row, from)
    if (outcome === 'invalid') return [...effects, ...close(from, 'badRecord', now)]
    const { id, stream, prune, redactions, next } = records
    const request = this.#state.requests.get(from, id === 0 ? undefined : id)
    // Those that come with events are passed on with the events.
    if (outcome === 'applied' && request?.kind !== 'events')
      effects.push(...spread.records({ stream, prune, redactions, next: undefined }, from))
    if (outcome === 'failed' && request?.kind === 'events') catchUp.giveUp(request, now, limits.failureRetryMs)
    if (request?.kind === 'records') effects.push(...this.#recordsArrived(request, outcome, next, now))
    return [...effects, ...catchUp.ask(now)]
  }

  #recordsArrived(request: Request, outcome: ApplyOutcome, next: number | undefined, now: number): Effect[] {
    const { catchUp } = this.#parts
    const { peer, name, from } = request
    const claim = this.#state.peers.get(peer)?.claims.get(name)
    this.#state.requests.close(request)
    if (outcome === 'failed' || claim === undefined) catchUp.askLater(peer, name, now)
    // Left out of the answer, or without an effect here: nothing else can be asked for before.
    else if (lacksPrune(claim, this.#state.table.get(name))) catchUp.askLater(peer, name, now, limits.unstorableRetryMs)
    else if (next === undefined || next <= from) {
      const prefix = claim.prefix === 'pruned' ? (outcome === 'applied' ? 'wanted' : 'fetched') : claim.prefix
      this.#state.changeClaim(peer, name, { areRecordsFetched: true, prefix })
      catchUp.lookAgain(name)
    } else {
      const { id } = this.#state.requests.open({ peer, name, kind: 'records', from: next }, now)
      return [send(peer, { is: 'want-records', id, stream: claim.stream, from: next, to: claim.count })]
    }
    return []
  }

  /** The evidence of a fork was given to the store. `row` is that of its stream now. */
  appliedEvidence(
    { from, want }: ApplyEvidenceEffect,
    outcome: ApplyOutcome,
    row: TableRow | undefined,
    now: number,
  ): Effect[] {
    const { catchUp, close } = this.#parts
    const effects = this.#set(row, from)
    if (outcome === 'invalid') return [...effects, ...close(from, 'badRecord', now)]
    const request = this.#state.requests.get(from, want, 'evidence')
    if (request !== undefined) catchUp.giveUp(request, now, outcome === 'failed' ? limits.unstorableRetryMs : undefined)
    return [...effects, ...catchUp.ask(now)]
  }

  /** The events from the last common checkpoint on were given to the store. */
  #searched(request: Request, chunk: Uint8Array, outcome: StoreOutcome, now: number): Effect[] {
    const { catchUp, forkSearches } = this.#parts
    const count = countOf(chunk)
    // The chunk of the peer ended before the chains part.
    if (outcome === 'known' && count > request.from && count < this.#state.countOf(request.name))
      return forkSearches.want(request, count, now)
    // The peer has as much as this node: what it has said before is outdated, and would start another search.
    const peer = this.#state.peers.get(request.peer)
    const claimed = outcome === 'known' && peer !== undefined ? catchUp.claimSent(peer, chunk, now) : []
    catchUp.giveUp(request, now, limits.forkSearchRetryMs)
    return [...claimed, ...catchUp.ask(now)]
  }

  /** Takes over what the store has of a stream now, and tells the peers when it has become frozen. */
  #set(row: TableRow | undefined, peer: string): Effect[] {
    if (row === undefined) return []
    const name = nameOfStream(row.key)
    const before = this.#state.table.get(name)
    this.#state.table.set(row)
    if (row.count !== before?.count) this.#forgetEarlyRecords(name, row)
    this.#parts.catchUp.lookAgain(name)
    if (!row.frozen || before?.frozen === true) return []
    return [...this.#parts.spread.frozen(row.key), { do: 'report', is: 'fork', stream: row.key, peer }]
  }

  /** Records that were asked for before all events were here are asked for again, if those of a peer still differ. */
  #forgetEarlyRecords(name: string, { count, pruned }: TableRow): void {
    for (const { name: peer, claims } of this.#state.peers.values()) {
      const claim = claims.get(name)
      if (claim?.areRecordsFetched === true && claim.count === count && claim.pruned >= pruned)
        this.#state.changeClaim(peer, name, { areRecordsFetched: false })
    }
  }
}

/**
 * Whether the chunk itself is sent on, not only the head. Payloads of a chunk that was asked for may be removed, and it
 * came with the records that say so. Of a chunk that starts with known events, only the others are verified. One that was
 * stored together with others is not all that is new.
 */
function isForwarded({ want, chunk }: StoreEffect, known: number, { count }: TableRow): boolean {
  return want === undefined && firstOffsetOf(chunk) === known && countOf(chunk) === count
}

/** The number of events of its stream up to the end of a chunk. */
function countOf(chunk: Uint8Array): number {
  return heads.decodeStored(signedHeadOf(chunk)).count
}
