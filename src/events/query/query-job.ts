import {
  answer,
  type Cursor,
  type Events,
  eventsOfStream,
  Failure,
  type GivenEvent,
  givenEvents,
  type MainQuery,
  MemoryEvents,
  type Order,
  type Plan,
  plainQuery,
  privateStream,
  type Steps,
} from '../../aql/index.ts'
import { limits } from '../../limits.ts'
import { LogCursor, LogReader, NdjsonWriter } from '../../store/log/index.ts'
import type { Job, JobMaker } from '../../store/threads/reader-host.ts'
import { nowMicros } from '../../time.ts'
import type { OffsetMap } from '../offsets.ts'
import { type Bounds, byNumber, isWithin, offsetsLine, outOfRange, presentOf } from './bounds.ts'
import { PlanCursor } from './cursor.ts'
import { LinesSink } from './lines-sink.ts'
import { errorLine, type QueryRequest, queryOf, told } from './requests.ts'
import { selectionOf } from './selection.ts'
import { JobTurn } from './turn.ts'

/** The stream of the events that a query brings along. */
const privateName = `${privateStream.node}-${privateStream.number}`

/** Answers a query once, with everything that is there. */
class QueryJob implements Job {
  readonly #request: QueryRequest
  readonly #lines = new NdjsonWriter(limits.pieceBytes)
  readonly #turn = new JobTurn(this.#lines)
  readonly #sink = new LinesSink(this.#lines)
  /** The upper bound that counts, which the client is told at the end. */
  readonly #upper: OffsetMap
  readonly #steps: Steps<boolean>

  constructor(source: LogReader | readonly GivenEvent[], request: QueryRequest) {
    this.#request = request
    const query = queryOf(request, 'query')
    const brought = told(() => givenEvents(query, BigInt(nowMicros())))
    if (brought !== undefined || !(source instanceof LogReader)) {
      const given = brought ?? (source as readonly GivenEvent[])
      const present = given.length === 0 ? {} : { [privateName]: given.length - 1 }
      this.#upper = request.upperBound ?? present
      const events = eventsOfStream(given).filter(({ offset }) => isInBounds(offset, request, this.#upper))
      this.#steps = this.#evaluation(query, isWithin(this.#upper, present) ? new MemoryEvents(events) : unavailable)
      return
    }
    const reader = source
    const present = presentOf(reader)
    this.#upper = request.upperBound ?? present
    const bounds = { lower: byNumber(reader, request.lowerBound), upper: byNumber(reader, this.#upper) }
    const plain = plainQuery(query, request.appId)
    const available = isWithin(this.#upper, present)
    if (plain !== undefined && plain.plan.residual === undefined && available)
      this.#steps = this.#copying(reader, plain.plan, plain.order ?? request.order, bounds)
    else this.#steps = this.#evaluation(query, available ? new StoredEvents(reader, bounds, this.#turn) : unavailable)
  }

  run(deadline: number): 'busy' | 'done' {
    this.#lines.clear()
    this.#turn.begin(deadline)
    do {
      const step = this.#steps.next()
      if (step.done !== true) continue
      this.#end(step.value)
      return 'done'
    } while (!this.#lines.isFull && performance.now() < deadline)
    return 'busy'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  #end(complete: boolean): void {
    if (complete) this.#lines.line(offsetsLine(this.#upper))
    else if (this.#sink.error !== undefined && this.#request.via === 'http')
      this.#lines.line(errorLine(this.#sink.error))
  }

  #evaluation(query: MainQuery, events: Events): Steps<boolean> {
    const { appId, order } = this.#request
    return told(() => answer(query, { events, appId, order, turn: this.#turn }, this.#sink))
  }

  /** Events as they are: their bytes are copied, and nobody looks at them one by one. */
  *#copying(reader: LogReader, plan: Plan, order: Order, bounds: Bounds): Steps<boolean> {
    const cursor = new LogCursor(reader, selectionOf(plan, order, bounds))
    while (!cursor.run(this.#lines, this.#turn.deadline)) yield
    return true
  }
}

function isInBounds(offset: number, { lowerBound }: QueryRequest, upper: OffsetMap): boolean {
  return offset > (lowerBound[privateName] ?? -1) && offset <= (upper[privateName] ?? -1)
}

/** The events of the store, within the bounds of a request. */
class StoredEvents implements Events {
  readonly #reader: LogReader
  readonly #bounds: Bounds
  readonly #turn: JobTurn

  constructor(reader: LogReader, bounds: Bounds, turn: JobTurn) {
    this.#reader = reader
    this.#bounds = bounds
    this.#turn = turn
  }

  open(plan: Plan, order: Order): Cursor {
    return new PlanCursor(this.#reader, plan, selectionOf(plan, order, this.#bounds), this.#turn)
  }
}

/** What is asked for is not here. */
const unavailable: Events = {
  open: () => {
    throw new Failure(outOfRange)
  },
}

export const makeQueryJob: JobMaker = (reader, request) => new QueryJob(reader, request as QueryRequest)

/** The same where there is nothing but some events. */
export function makeGivenJob(events: readonly GivenEvent[], request: QueryRequest): Job {
  return new QueryJob(events, request)
}
