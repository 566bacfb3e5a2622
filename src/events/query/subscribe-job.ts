import { later, Subscription } from '../../aql/index.ts'
import { limits } from '../../limits.ts'
import { type LogReader, NdjsonWriter, type StreamNumber } from '../../store/log/index.ts'
import type { Job, JobMaker } from '../../store/threads/reader-host.ts'
import { offsetsLine } from './bounds.ts'
import { Following } from './following.ts'
import { LinesSink } from './lines-sink.ts'
import { errorLine, queryOf, type SubscribeRequest, told } from './requests.ts'
import { JobTurn } from './turn.ts'

/** Answers a query with what there is, and then with what comes, until somebody ends it. */
class SubscribeJob implements Job {
  readonly #request: SubscribeRequest
  readonly #lines = new NdjsonWriter(limits.pieceBytes)
  readonly #turn = new JobTurn(this.#lines)
  readonly #sink = new LinesSink(this.#lines)
  readonly #subscription: Subscription
  readonly #following: Following
  #isLive = false

  constructor(reader: LogReader, request: SubscribeRequest) {
    this.#request = request
    const query = queryOf(request, 'subscribe')
    this.#subscription = told(() => new Subscription(query, request.appId, this.#sink))
    this.#following = new Following(reader, this.#subscription.plan, request.lowerBound, this.#turn)
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
    do {
      if (!this.#read()) return 'busy'
      this.#subscription.flush()
      if (!this.#isLive && this.#sink.error === undefined) this.#lines.line(offsetsLine(this.#following.present))
      this.#isLive = true
      if (this.#subscription.done) return this.#end()
    } while (this.#following.extend())
    return 'waiting'
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
      if (this.#lines.isFull || this.#turn.isOver()) return false
    }
  }

  #end(): 'done' {
    const { error } = this.#sink
    if (error !== undefined && this.#request.via === 'http') this.#lines.line(errorLine(error))
    return 'done'
  }
}

export const makeSubscribeJob: JobMaker = (reader, request) => new SubscribeJob(reader, request as SubscribeRequest)
