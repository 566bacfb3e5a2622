import { type AqlEvent, comparePlaces, later, type Place, type Steps, Subscription } from '../../aql/index.ts'
import { assert } from '../../base/assert.ts'
import { tuning } from '../../base/tuning.ts'
import { heapCost } from '../../client-memory/account.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EventReader, type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import { byNumber, isWithin, offsetsLine, outOfRange } from './bounds.ts'
import { Following } from './following.ts'
import { HeldResults } from './held-results.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import { errorLine, queryOf, refused, requestBytes, type SubscribeRequest, told } from './query-requests.ts'
import { JobTurn } from './turn.ts'

interface Prepared {
  readonly clock: Clock
  readonly lines: NdjsonWriter
  readonly results: HeldResults
  readonly subscription: Subscription
}

/**
 * Answers a query with what there is, and then with what comes, in the order of all events only: it ends with the first
 * event that has to be sorted in before one that was seen already.
 */
class MonotonicJob implements Job {
  readonly isLive = true
  readonly #request: SubscribeRequest
  readonly #requestBytes: number
  readonly #lines: NdjsonWriter
  readonly #turn: JobTurn
  readonly #results: HeldResults
  readonly #subscription: Subscription
  readonly #following: Following
  /** Looks for the last event within the lower bound. */
  readonly #before: PlanCursor
  #phase: 'before' | 'past' | 'live' = 'before'
  /** The last event that was seen, whether it was filtered out or not. */
  #latest: Place | undefined

  constructor(reader: EventReader, request: SubscribeRequest, { clock, lines, results, subscription }: Prepared) {
    this.#request = request
    this.#requestBytes = requestBytes(request)
    this.#lines = lines
    this.#turn = new JobTurn(lines, clock)
    this.#results = results
    this.#subscription = subscription
    const { plan } = subscription
    this.#following = new Following(reader, plan, request.lowerBound, this.#turn)
    if (!isWithin(request.lowerBound, this.#following.present)) throw refused(request.via, outOfRange)
    const upTo = { lower: new Map(), upper: byNumber(reader, request.lowerBound) }
    this.#before = new PlanCursor(reader, plan, selectionOf(plan, 'desc', upTo), this.#turn)
  }

  get appId(): string | undefined {
    return this.#following.appId
  }

  run(deadline: number): 'busy' | 'waiting' | 'done' {
    this.#lines.clear()
    this.#turn.begin(deadline)
    if (this.#phase === 'before' && !this.#findLatest()) return 'busy'
    for (;;) {
      const read = this.#read()
      if (read !== 'all') return read === 'end' ? 'done' : 'busy'
      this.#results.release(true)
      if (this.#phase === 'past') this.#lines.line(offsetsLine(this.#following.present))
      this.#phase = 'live'
      if (!this.#following.extend()) return 'waiting'
      // Commits may come as fast as they are read.
      if (this.#turn.isOver()) return 'busy'
    }
  }

  get heldBytes(): number {
    return (
      this.#requestBytes + heapCost(this.#subscription.heldBytes) + this.#following.heldBytes + this.#lines.heldBytes
    )
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  #findLatest(): boolean {
    const event = this.#before.next()
    if (event === later) return false
    this.#latest = event && placeOf(event)
    this.#phase = 'past'
    return true
  }

  #read(): 'all' | 'some' | 'end' {
    for (;;) {
      const event = this.#following.next()
      if (event === undefined) return 'all'
      if (event === later) return 'some'
      if (this.#latest !== undefined && comparePlaces(event, this.#latest) <= 0) {
        this.#travel(event)
        return 'end'
      }
      this.#latest = placeOf(event)
      this.#subscription.push(event)
      if (this.#subscription.done) {
        this.#fail()
        return 'end'
      }
      if (this.#lines.isFull || this.#turn.isOver(this.#subscription.stepsPerEvent)) return 'some'
    }
  }

  /**
   * Events between two snapshots come in order, so this is the earliest one of those that came late. An own event never does:
   * lamport timestamps of own events rise with commits, and a lower bound is the only way to have seen a later one before.
   */
  #travel({ lamport, stream, offset, own }: AqlEvent): void {
    assert(this.#phase === 'past' || !own, 'own events come in the order of all events')
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
  const subscription = yield* told(Subscription.open(query, request.appId, results))
  return new MonotonicJob(reader, request, { clock, lines, results, subscription })
}

export const makeMonotonicJob = ((reader, request, clock) =>
  prepare(reader, request as SubscribeRequest, clock)) satisfies JobMaker

/** The place of an event without the event, which would keep the block that it is in. */
function placeOf({ lamport, stream }: AqlEvent): Place {
  return { lamport, stream }
}
