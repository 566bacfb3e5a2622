import { type AqlEvent, comparePlaces, later, Subscription } from '../../aql/index.ts'
import { limits } from '../../limits.ts'
import { type LogReader, NdjsonWriter, type StreamNumber } from '../../store/log/index.ts'
import type { Job, JobMaker } from '../../store/threads/reader-host.ts'
import { byNumber, isWithin, offsetsLine, outOfRange } from './bounds.ts'
import { PlanCursor } from './cursor.ts'
import { Following } from './following.ts'
import { HeldResults } from './held-results.ts'
import { errorLine, queryOf, refused, type SubscribeRequest, told } from './requests.ts'
import { selectionOf } from './selection.ts'
import { JobTurn } from './turn.ts'

/**
 * Answers a query with what there is, and then with what comes, in the order of all events only: it ends with the first
 * event that has to be sorted in before one that was seen already.
 */
class MonotonicJob implements Job {
  readonly #request: SubscribeRequest
  readonly #lines = new NdjsonWriter(limits.pieceBytes)
  readonly #turn = new JobTurn(this.#lines)
  readonly #results = new HeldResults(this.#lines)
  readonly #subscription: Subscription
  readonly #following: Following
  /** Looks for the last event within the lower bound. */
  readonly #before: PlanCursor
  #phase: 'before' | 'past' | 'live' = 'before'
  /** The last event that was seen, whether it was filtered out or not. */
  #latest: AqlEvent | undefined

  constructor(reader: LogReader, request: SubscribeRequest) {
    this.#request = request
    const query = queryOf(request, 'subscribe_monotonic')
    this.#subscription = told(() => new Subscription(query, request.appId, this.#results))
    const { plan } = this.#subscription
    this.#following = new Following(reader, plan, request.lowerBound, this.#turn)
    if (!isWithin(request.lowerBound, this.#following.present)) throw refused(request.via, outOfRange)
    const upTo = { lower: new Map(), upper: byNumber(reader, request.lowerBound) }
    this.#before = new PlanCursor(reader, plan, selectionOf(plan, 'desc', upTo), this.#turn)
  }

  get appId(): string | undefined {
    return this.#following.appId
  }

  wake(grown: ReadonlySet<StreamNumber>): void {
    this.#following.wake(grown)
  }

  run(deadline: number): 'busy' | 'waiting' | 'done' {
    this.#lines.clear()
    this.#turn.begin(deadline)
    if (this.#phase === 'before' && !this.#findLatest()) return 'busy'
    do {
      const read = this.#read()
      if (read !== 'all') return read === 'end' ? 'done' : 'busy'
      this.#results.release(true)
      if (this.#phase === 'past') this.#lines.line(offsetsLine(this.#following.present))
      this.#phase = 'live'
    } while (this.#following.extend())
    return 'waiting'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  #findLatest(): boolean {
    const event = this.#before.next()
    if (event === later) return false
    this.#latest = event
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
      this.#latest = event
      this.#subscription.push(event)
      if (this.#subscription.done) {
        this.#fail()
        return 'end'
      }
      if (this.#lines.isFull || this.#turn.isOver()) return 'some'
    }
  }

  /** Events come in order as far as they are here, so this is the earliest one of those that came late. */
  #travel({ lamport, stream, offset }: AqlEvent): void {
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

export const makeMonotonicJob: JobMaker = (reader, request) => new MonotonicJob(reader, request as SubscribeRequest)
