import { later, type Steps, Subscription } from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { heapCost } from '../../client-memory/account.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EventReader, type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import { offsetsLine } from './bounds.ts'
import { Following } from './following.ts'
import { LinesSink } from './lines-sink.ts'
import { errorLine, queryOf, requestBytes, type SubscribeRequest, told } from './query-requests.ts'
import { JobTurn } from './turn.ts'

interface Prepared {
  readonly clock: Clock
  readonly lines: NdjsonWriter
  readonly sink: LinesSink
  readonly subscription: Subscription
}

/** Answers a query with what there is, and then with what comes, until somebody ends it. */
class SubscribeJob implements Job {
  readonly isLive = true
  readonly #request: SubscribeRequest
  readonly #requestBytes: number
  readonly #lines: NdjsonWriter
  readonly #turn: JobTurn
  readonly #sink: LinesSink
  readonly #subscription: Subscription
  readonly #following: Following
  #isCaughtUp = false

  constructor(reader: EventReader, request: SubscribeRequest, { clock, lines, sink, subscription }: Prepared) {
    this.#request = request
    this.#requestBytes = requestBytes(request)
    this.#lines = lines
    this.#turn = new JobTurn(lines, clock)
    this.#sink = sink
    this.#subscription = subscription
    this.#following = new Following(reader, subscription.plan, request.lowerBound, this.#turn)
  }

  get appId(): string | undefined {
    return this.#following.appId
  }

  run(deadline: number): 'busy' | 'waiting' | 'done' {
    this.#lines.clear()
    this.#turn.begin(deadline)
    while (this.#read()) {
      this.#subscription.flush()
      if (!this.#isCaughtUp && this.#sink.error === undefined) this.#lines.line(offsetsLine(this.#following.present))
      this.#isCaughtUp = true
      if (this.#subscription.done) return this.#end()
      if (!this.#following.extend()) return 'waiting'
      // Commits may come as fast as they are read.
      if (this.#turn.isOver()) return 'busy'
    }
    return 'busy'
  }

  get heldBytes(): number {
    return (
      this.#requestBytes + heapCost(this.#subscription.heldBytes) + this.#following.heldBytes + this.#lines.heldBytes
    )
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  /** Reads on, and answers whether everything was read that there is, or that can matter. */
  #read(): boolean {
    for (;;) {
      if (this.#subscription.done) return true
      const event = this.#following.next()
      if (event === undefined) return true
      if (event === later) return false
      this.#subscription.push(event)
      if (this.#lines.isFull || this.#turn.isOver(this.#subscription.stepsPerEvent)) return false
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
  const subscription = yield* told(Subscription.open(query, request.appId, sink))
  return new SubscribeJob(reader, request, { clock, lines, sink, subscription })
}

export const makeSubscribeJob = ((reader, request, clock) =>
  prepare(reader, request as SubscribeRequest, clock)) satisfies JobMaker
