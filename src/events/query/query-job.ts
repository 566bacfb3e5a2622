import {
  type Cursor,
  compiled,
  type EventProvider,
  eventsOfStream,
  Failure,
  type InlineEvent,
  inlineEventSteps,
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
import { JobSlice } from './job-slice.ts'
import { LinesSink } from './lines-sink.ts'
import { PlanCursor } from './plan-cursor.ts'
import { selectionOf } from './plan-selection.ts'
import { errorLine, mapQueryErrors, type QueryRequest, queryOf, requestBytes } from './query-requests.ts'

/** The stream ID of inline events. */
const privateName = `${privateStream.node}-${privateStream.number}`

/** A parsed and compiled query. */
interface Prepared {
  readonly clock: Clock
  /** The events of `PRAGMA events`. */
  readonly inline: readonly InlineEvent[] | undefined
  readonly plain: PlainQuery | undefined
  readonly program: Program
}

/** Runs a query over one snapshot. */
class QueryJob implements Job {
  readonly #request: QueryRequest
  readonly #requestBytes: number
  readonly #lines = new NdjsonWriter(tuning.pieceBytes)
  readonly #clock: Clock
  readonly #slice: JobSlice
  readonly #sink = new LinesSink(this.#lines)
  /** The effective upper bound, which is sent to the client at the end. */
  readonly #upper: OffsetMap
  readonly #steps: Steps<boolean>
  /** Open cursors. */
  readonly #cursors = new Set<{ readonly heldBytes: number }>()

  constructor(
    source: EventReader | readonly InlineEvent[],
    request: QueryRequest,
    { clock, inline, plain, program }: Prepared,
  ) {
    this.#request = request
    this.#clock = clock
    this.#slice = new JobSlice(this.#lines, clock)
    this.#requestBytes = requestBytes(request)
    if (inline !== undefined || !('cursor' in source)) {
      const listed = inline ?? (source as readonly InlineEvent[])
      const present = listed.length === 0 ? {} : { [privateName]: listed.length - 1 }
      this.#upper = request.upperBound ?? present
      const events = eventsOfStream(listed).filter(({ offset }) => isInBounds(offset, request, this.#upper))
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
        available ? new StoredEvents(reader, bounds, this.#slice, this.#cursors) : unavailable,
      )
  }

  begin(): void {
    this.#lines.clear()
  }

  get isFull(): boolean {
    return this.#lines.isFull
  }

  run(deadline: number): 'busy' | 'done' {
    this.#slice.begin(deadline)
    do {
      const step = this.#steps.next()
      if (step.done !== true) continue
      this.#end(step.value)
      return 'done'
    } while (!this.#lines.isFull && this.#clock.steadyMs() < deadline)
    return 'busy'
  }

  get heldBytes(): number {
    let bytes = this.#requestBytes + heapCost(this.#slice.heldBytes) + this.#lines.heldBytes
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

  #evaluation(program: Program, events: EventProvider): Steps<boolean> {
    const { appId, order } = this.#request
    return runProgram(program, { events, appId, order, slice: this.#slice }, this.#sink)
  }

  /** Fast path for unchanged events: copies stored lines without parsing events. */
  *#copying(reader: EventReader, plan: Plan, order: Order, bounds: Bounds): Steps<boolean> {
    const cursor = reader.cursor(selectionOf(plan, order, bounds))
    this.#cursors.add(cursor)
    while (!cursor.run(this.#lines, this.#slice.deadline)) yield
    return true
  }
}

function isInBounds(offset: number, { lowerBound }: QueryRequest, upper: OffsetMap): boolean {
  return offset > (lowerBound[privateName] ?? -1) && offset <= (upper[privateName] ?? -1)
}

/** The events of the store, within the bounds of a request. */
class StoredEvents implements EventProvider {
  readonly #reader: EventReader
  readonly #bounds: Bounds
  readonly #slice: JobSlice
  readonly #open: Set<{ readonly heldBytes: number }>

  /** Registers open cursors in the given set. */
  constructor(reader: EventReader, bounds: Bounds, slice: JobSlice, open: Set<{ readonly heldBytes: number }>) {
    this.#reader = reader
    this.#bounds = bounds
    this.#slice = slice
    this.#open = open
  }

  open(plan: Plan, order: Order): Cursor {
    const closed = (): void => void this.#open.delete(cursor)
    const selection = selectionOf(plan, order, this.#bounds)
    const cursor = new PlanCursor(this.#reader, plan, selection, this.#slice, { closed })
    this.#open.add(cursor)
    return cursor
  }
}

/** The event source for an upper bound beyond the present. */
const unavailable: EventProvider = {
  open: () => {
    throw new Failure(outOfRange)
  },
}

function* prepare(source: EventReader | readonly InlineEvent[], request: QueryRequest, clock: Clock): Steps<Job> {
  const query = yield* queryOf(request, 'query', clock)
  const inline = yield* mapQueryErrors(inlineEventSteps(query, BigInt(clock.now())))
  const program = yield* mapQueryErrors(compiled(query))
  const plain = yield* plainSteps(query, request.appId)
  return new QueryJob(source, request, { clock, inline, plain, program })
}

export const makeQueryJob = ((reader, request, clock) =>
  prepare(reader, request as QueryRequest, clock)) satisfies JobMaker

/** Makes a query job for a list of events instead of a store. */
export function makeEventListJob(events: readonly InlineEvent[], request: QueryRequest, clock: Clock): Steps<Job> {
  return prepare(events, request, clock)
}
