import { type AqlEvent, compareEventKeys, type EventKey, notReady, type Steps, Subscription } from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { heapCost } from '../../client-memory/account.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EventReader, type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import { byNumber, isWithin, offsetsLine, outOfRange } from './bounds.ts'
import { HeldResults } from './held-results.ts'
import { JobSlice } from './job-slice.ts'
import { LiveCursor } from './live-cursor.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import {
  badRequest,
  errorLine,
  mapQueryErrors,
  queryOf,
  requestBytes,
  type SubscribeRequest,
} from './query-requests.ts'

interface Prepared {
  readonly clock: Clock
  readonly lines: NdjsonWriter
  readonly results: HeldResults
  readonly subscription: Subscription
}

/**
 * Runs a subscription in the total order: stored events, then new ones. It ends with the first event that sorts before
 * one that was read already (time travel).
 */
class MonotonicJob implements Job {
  readonly isLive = true
  readonly #request: SubscribeRequest
  readonly #requestBytes: number
  readonly #lines: NdjsonWriter
  readonly #slice: JobSlice
  readonly #results: HeldResults
  readonly #subscription: Subscription
  readonly #events: LiveCursor
  /** Finds the last event within the lower bound. */
  readonly #before: PlanCursor
  #phase: 'before' | 'past' | 'live' = 'before'
  /** The last event that was read, including filtered ones. */
  #latest: EventKey | undefined

  constructor(reader: EventReader, request: SubscribeRequest, { clock, lines, results, subscription }: Prepared) {
    this.#request = request
    this.#requestBytes = requestBytes(request)
    this.#lines = lines
    this.#slice = new JobSlice(lines, clock)
    this.#results = results
    this.#subscription = subscription
    const { plan } = subscription
    this.#events = new LiveCursor(reader, plan, request.lowerBound, this.#slice)
    if (!isWithin(request.lowerBound, this.#events.present)) throw badRequest(request.via, outOfRange)
    const upTo = { lower: new Map(), upper: byNumber(reader, request.lowerBound) }
    this.#before = new PlanCursor(reader, plan, selectionOf(plan, 'desc', upTo), this.#slice)
  }

  get appId(): string | undefined {
    return this.#events.appId
  }

  begin(): void {
    this.#lines.clear()
  }

  get isFull(): boolean {
    return this.#lines.isFull
  }

  run(deadline: number): 'busy' | 'waiting' | 'done' {
    this.#slice.begin(deadline)
    if (this.#phase === 'before' && !this.#findLatest()) return 'busy'
    for (;;) {
      const read = this.#read()
      if (read !== 'all') return read === 'end' ? 'done' : 'busy'
      this.#results.release(true)
      if (this.#phase === 'past') this.#lines.line(offsetsLine(this.#events.present))
      this.#phase = 'live'
      if (!this.#events.extend()) return 'waiting'
      // A busy writer may commit as fast as this reads.
      if (this.#slice.isOver()) return 'busy'
    }
  }

  get heldBytes(): number {
    return this.#requestBytes + heapCost(this.#subscription.heldBytes) + this.#events.heldBytes + this.#lines.heldBytes
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  #findLatest(): boolean {
    const event = this.#before.next()
    if (event === notReady) return false
    this.#latest = event && keyOf(event)
    this.#phase = 'past'
    return true
  }

  #read(): 'all' | 'some' | 'end' {
    for (;;) {
      const event = this.#events.next()
      if (event === undefined) return 'all'
      if (event === notReady) return 'some'
      if (this.#latest !== undefined && compareEventKeys(event, this.#latest) <= 0) {
        this.#timeTravel(event)
        return 'end'
      }
      this.#latest = keyOf(event)
      this.#subscription.push(event)
      if (this.#subscription.done) {
        this.#fail()
        return 'end'
      }
      if (this.#lines.isFull || this.#slice.isOver(this.#subscription.stepsPerEvent)) return 'some'
    }
  }

  /**
   * Events between two snapshots are read in order, so this is the earliest of the late ones. An own event is late only if
   * the lower bound includes later events, or if it was adopted from another node after a doubtful start.
   */
  #timeTravel({ lamport, stream, offset }: AqlEvent): void {
    this.#results.release(false)
    const newStart = { lamport, stream: `${stream.node}-${stream.number}`, offset }
    this.#lines.line(JSON.stringify({ type: 'timeTravel', newStart }))
  }

  #fail(): void {
    this.#results.release(false)
    const { error } = this.#results
    if (error !== undefined && this.#request.via === 'http') this.#lines.line(errorLine(error))
  }
}

function* prepare(reader: EventReader, request: SubscribeRequest, clock: Clock): Steps<Job> {
  const query = yield* queryOf(request, 'subscribe_monotonic', clock)
  const lines = new NdjsonWriter(tuning.pieceBytes)
  const results = new HeldResults(lines)
  const subscription = yield* mapQueryErrors(Subscription.open(query, request.appId, results))
  return new MonotonicJob(reader, request, { clock, lines, results, subscription })
}

export const makeMonotonicJob = ((reader, request, clock) =>
  prepare(reader, request as SubscribeRequest, clock)) satisfies JobMaker

/** Copies the key of an event: a reference to the event would keep its block in memory. */
function keyOf({ lamport, stream }: AqlEvent): EventKey {
  return { lamport, stream }
}
