import { notReady, type Steps, Subscription } from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { heapCost } from '../../client-memory/account.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EventReader, type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import { offsetsLine } from './bounds.ts'
import { JobSlice } from './job-slice.ts'
import { LinesSink } from './lines-sink.ts'
import { LiveCursor } from './live-cursor.ts'
import { errorLine, mapQueryErrors, queryOf, requestBytes, type SubscribeRequest } from './query-requests.ts'

interface Prepared {
  readonly clock: Clock
  readonly lines: NdjsonWriter
  readonly sink: LinesSink
  readonly subscription: Subscription
}

/** Runs a subscription: stored events, then new ones, until it is cancelled. */
class SubscribeJob implements Job {
  readonly isLive = true
  readonly #request: SubscribeRequest
  readonly #requestBytes: number
  readonly #lines: NdjsonWriter
  readonly #slice: JobSlice
  readonly #sink: LinesSink
  readonly #subscription: Subscription
  readonly #events: LiveCursor
  #isCaughtUp = false

  constructor(reader: EventReader, request: SubscribeRequest, { clock, lines, sink, subscription }: Prepared) {
    this.#request = request
    this.#requestBytes = requestBytes(request)
    this.#lines = lines
    this.#slice = new JobSlice(lines, clock)
    this.#sink = sink
    this.#subscription = subscription
    this.#events = new LiveCursor(reader, subscription.plan, request.lowerBound, this.#slice)
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
    while (this.#read()) {
      this.#subscription.flush()
      if (!this.#isCaughtUp && this.#sink.error === undefined) this.#lines.line(offsetsLine(this.#events.present))
      this.#isCaughtUp = true
      if (this.#subscription.done) return this.#end()
      if (!this.#events.extend()) return 'waiting'
      // A busy writer may commit as fast as this reads.
      if (this.#slice.isOver()) return 'busy'
    }
    return 'busy'
  }

  get heldBytes(): number {
    return this.#requestBytes + heapCost(this.#subscription.heldBytes) + this.#events.heldBytes + this.#lines.heldBytes
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  /** Reads events. Returns whether it is caught up, or further events cannot change the result. */
  #read(): boolean {
    for (;;) {
      if (this.#subscription.done) return true
      const event = this.#events.next()
      if (event === undefined) return true
      if (event === notReady) return false
      this.#subscription.push(event)
      if (this.#lines.isFull || this.#slice.isOver(this.#subscription.stepsPerEvent)) return false
    }
  }

  #end(): 'done' {
    const { error } = this.#sink
    if (error !== undefined && this.#request.via === 'http') this.#lines.line(errorLine(error))
    return 'done'
  }
}

function* prepare(reader: EventReader, request: SubscribeRequest, clock: Clock): Steps<Job> {
  const query = yield* queryOf(request, 'subscribe', clock)
  const lines = new NdjsonWriter(tuning.pieceBytes)
  const sink = new LinesSink(lines)
  const subscription = yield* mapQueryErrors(Subscription.open(query, request.appId, sink))
  return new SubscribeJob(reader, request, { clock, lines, sink, subscription })
}

export const makeSubscribeJob = ((reader, request, clock) =>
  prepare(reader, request as SubscribeRequest, clock)) satisfies JobMaker
