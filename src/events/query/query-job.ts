import {
  type Cursor,
  compiled,
  type Events,
  eventsOfStream,
  Failure,
  type GivenEvent,
  givenSteps,
  MemoryEvents,
  type Order,
  type PlainQuery,
  type Plan,
  type Program,
  plainSteps,
  privateStream,
  runProgram,
  type Steps,
} from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { heapCost } from '../../client-memory/account.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type EventReader, type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import type { OffsetMap } from '../offsets.ts'
import { type Bounds, byNumber, isWithin, offsetsLine, outOfRange, presentOf } from './bounds.ts'
import { LinesSink } from './lines-sink.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import { errorLine, type QueryRequest, queryOf, requestBytes, told } from './query-requests.ts'
import { JobTurn } from './turn.ts'

/** The stream of the events that a query brings along. */
const privateName = `${privateStream.node}-${privateStream.number}`

/** What is known of a query before anything is read. */
interface Prepared {
  readonly clock: Clock
  /** The events that it brings along. */
  readonly brought: readonly GivenEvent[] | undefined
  readonly plain: PlainQuery | undefined
  readonly program: Program
}

/** Answers a query once, with everything that is there. */
class QueryJob implements Job {
  readonly #request: QueryRequest
  readonly #requestBytes: number
  readonly #lines = new NdjsonWriter(tuning.pieceBytes)
  readonly #clock: Clock
  readonly #turn: JobTurn
  readonly #sink = new LinesSink(this.#lines)
  /** The upper bound that counts, which the client is told at the end. */
  readonly #upper: OffsetMap
  readonly #steps: Steps<boolean>
  /** The cursors that it has open. */
  readonly #cursors = new Set<{ readonly heldBytes: number }>()

  constructor(
    source: EventReader | readonly GivenEvent[],
    request: QueryRequest,
    { clock, brought, plain, program }: Prepared,
  ) {
    this.#request = request
    this.#clock = clock
    this.#turn = new JobTurn(this.#lines, clock)
    this.#requestBytes = requestBytes(request)
    if (brought !== undefined || !('cursor' in source)) {
      const given = brought ?? (source as readonly GivenEvent[])
      const present = given.length === 0 ? {} : { [privateName]: given.length - 1 }
      this.#upper = request.upperBound ?? present
      const events = eventsOfStream(given).filter(({ offset }) => isInBounds(offset, request, this.#upper))
      this.#steps = this.#evaluation(program, isWithin(this.#upper, present) ? new MemoryEvents(events) : unavailable)
      return
    }
    const reader = source
    const present = presentOf(reader)
    this.#upper = request.upperBound ?? present
    const bounds = { lower: byNumber(reader, request.lowerBound), upper: byNumber(reader, this.#upper) }
    const available = isWithin(this.#upper, present)
    if (plain !== undefined && plain.plan.residual === undefined && available)
      this.#steps = this.#copying(reader, plain.plan, plain.order ?? request.order, bounds)
    else
      this.#steps = this.#evaluation(
        program,
        available ? new StoredEvents(reader, bounds, this.#turn, this.#cursors) : unavailable,
      )
  }

  run(deadline: number): 'busy' | 'done' {
    this.#lines.clear()
    this.#turn.begin(deadline)
    do {
      const step = this.#steps.next()
      if (step.done !== true) continue
      this.#end(step.value)
      return 'done'
    } while (!this.#lines.isFull && this.#clock.steadyMs() < deadline)
    return 'busy'
  }

  get heldBytes(): number {
    let bytes = this.#requestBytes + heapCost(this.#turn.heldBytes) + this.#lines.heldBytes
    for (const cursor of this.#cursors) bytes += cursor.heldBytes
    return bytes
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }

  #end(complete: boolean): void {
    if (complete) this.#lines.line(offsetsLine(this.#upper))
    else if (this.#sink.error !== undefined && this.#request.via === 'http')
      this.#lines.line(errorLine(this.#sink.error))
  }

  #evaluation(program: Program, events: Events): Steps<boolean> {
    const { appId, order } = this.#request
    return runProgram(program, { events, appId, order, turn: this.#turn }, this.#sink)
  }

  /** Events as they are: their bytes are copied, and nobody looks at them one by one. */
  *#copying(reader: EventReader, plan: Plan, order: Order, bounds: Bounds): Steps<boolean> {
    const cursor = reader.cursor(selectionOf(plan, order, bounds))
    this.#cursors.add(cursor)
    while (!cursor.run(this.#lines, this.#turn.deadline)) yield
    return true
  }
}

function isInBounds(offset: number, { lowerBound }: QueryRequest, upper: OffsetMap): boolean {
  return offset > (lowerBound[privateName] ?? -1) && offset <= (upper[privateName] ?? -1)
}

/** The events of the store, within the bounds of a request. */
class StoredEvents implements Events {
  readonly #reader: EventReader
  readonly #bounds: Bounds
  readonly #turn: JobTurn
  readonly #open: Set<{ readonly heldBytes: number }>

  /** Cursors are in the given set as long as they are open. */
  constructor(reader: EventReader, bounds: Bounds, turn: JobTurn, open: Set<{ readonly heldBytes: number }>) {
    this.#reader = reader
    this.#bounds = bounds
    this.#turn = turn
    this.#open = open
  }

  open(plan: Plan, order: Order): Cursor {
    const closed = (): void => void this.#open.delete(cursor)
    const selection = selectionOf(plan, order, this.#bounds)
    const cursor = new PlanCursor(this.#reader, plan, selection, this.#turn, { closed })
    this.#open.add(cursor)
    return cursor
  }
}

/** What is asked for is not here. */
const unavailable: Events = {
  open: () => {
    throw new Failure(outOfRange)
  },
}

function* prepare(source: EventReader | readonly GivenEvent[], request: QueryRequest, clock: Clock): Steps<Job> {
  const query = yield* queryOf(request, 'query', clock)
  const brought = yield* told(givenSteps(query, BigInt(clock.now())))
  const program = yield* told(compiled(query))
  const plain = yield* plainSteps(query, request.appId)
  return new QueryJob(source, request, { clock, brought, plain, program })
}

export const makeQueryJob = ((reader, request, clock) =>
  prepare(reader, request as QueryRequest, clock)) satisfies JobMaker

/** The same where there is nothing but some events. */
export function makeGivenJob(events: readonly GivenEvent[], request: QueryRequest, clock: Clock): Steps<Job> {
  return prepare(events, request, clock)
}
