import type { Order, Query } from '../ast.ts'
import type { Steps } from '../steps.ts'
import { spend } from '../values/allowance.ts'
import { caught, type Failure } from '../values/failure.ts'
import { type JsonText, jsonLength, jsonText } from '../values/json-write.ts'
import { type Metadata, Span } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { compileQuery, compileSteps } from './compile.ts'
import { type Completion, drive } from './drive.ts'
import type { EventProvider, Slice } from './event-provider.ts'
import type { Sink } from './messages.ts'
import type { Program } from './program.ts'
import { Frame, type Output, Session } from './variable-frame.ts'
import { Scope } from './variable-scope.ts'

/** The parameters of a query request. */
export interface Request {
  /** The event source, restricted to the bounds of the request. */
  readonly events: EventProvider
  /** The requesting app: `appId(me)`. */
  readonly appId: string
  /** The order of the request; the query may override it. */
  readonly order: Order
  readonly slice: Slice
}

/**
 * Compiles and runs a query, and hands the results to the sink. Static errors are thrown before the first step. Returns
 * whether the results are complete; if not, the last message says why.
 */
export function evaluateQuery(query: Query, request: Request, sink: Sink): Steps<boolean> {
  return runProgram(compileQuery(query, rootScope), request, sink)
}

/** Runs a compiled query. */
export function runProgram(program: Program, request: Request, sink: Sink): Steps<boolean> {
  const session = new Session(request.events, request.appId, request.slice, program.stepsPerEvent)
  return accounted(session, request.slice, run(program, session, request, sink))
}

/** Activates the allowance of this query after each yield, because other queries ran in between. */
function* accounted(session: Session, slice: Slice, steps: Steps<boolean>): Steps<boolean> {
  try {
    for (;;) {
      session.allowance.activate()
      const step = steps.next()
      if (step.done === true) return step.value
      slice.heldBytes = session.heldBytes
      yield
    }
  } finally {
    steps.return(false)
  }
}

/** Compiles a query only to throw its static errors. */
export function compile(query: Query): void {
  compileQuery(query, rootScope)
}

/** Compiles a query in steps. Throws its static errors. */
export function compiled(query: Query): Steps<Program> {
  return compileSteps(query, rootScope)
}

/** The scope outside of all queries: it has no variables. */
export const rootScope = new Scope(undefined, false)

function* run(program: Program, session: Session, request: Request, sink: Sink): Steps<boolean> {
  const output = new SinkOutput(program, sink)
  const outer = new Frame(0, session, output)
  const order = program.order ?? request.order
  const isOrdered = program.source.kind === 'events'
  const frame = new Frame(program.slots, session, output, isOrdered ? order : undefined, outer)
  try {
    return yield* drive(program, frame, outer, order, complete)
  } catch (thrown) {
    // A failing item ends an array source with a warning. An event source that cannot be opened is an error.
    const failure = caught(thrown)
    sink.diagnostic(isOrdered || failure.fatal ? 'error' : 'warning', failure.message)
    return false
  }
}

const complete: Completion<boolean> = { close: () => {}, outcome: () => true }

/** Forwards results to the sink. */
export class SinkOutput implements Output {
  readonly #sink: Sink
  readonly #ofEvents: boolean

  constructor(program: Program, sink: Sink) {
    this.#sink = sink
    this.#ofEvents = program.source.kind === 'events'
  }

  emit(frame: Frame, slot: number, anti: boolean): void {
    const metadata = frame.metadata[slot]
    if (slot === 0 && this.#ofEvents && metadata !== undefined && !(metadata instanceof Span))
      this.#sink.unchanged(metadata)
    else this.#emitValue(frame.values[slot] as Value, metadata, anti)
  }

  failed(failure: Failure): void {
    this.#sink.diagnostic('warning', failure.message)
  }

  #emitValue(value: Value, metadata: Metadata, anti: boolean): void {
    let payload: JsonText
    try {
      payload = jsonText(value)
    } catch (thrown) {
      this.failed(caught(thrown))
      return
    }
    // One event can produce several results before the sink is drained.
    spend(jsonLength(payload))
    this.#sink.value(payload, metadata, anti)
  }
}
