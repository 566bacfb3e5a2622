import type { Order, Query } from '../ast.ts'
import type { Steps } from '../steps.ts'
import { spend } from '../values/allowance.ts'
import { caught, type Failure } from '../values/failure.ts'
import { writeJson } from '../values/json-write.ts'
import { type Metadata, Span } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { compileQuery, compileSteps } from './compile.ts'
import { drive, type End } from './drive.ts'
import type { Events, Turn } from './event-source.ts'
import type { Sink } from './messages.ts'
import type { Program } from './program.ts'
import { Frame, type Output, Session } from './variable-frame.ts'
import { Scope } from './variable-scope.ts'

/** Who asks, and on what terms. */
export interface Request {
  /** Where the events come from, within the bounds of the request. */
  readonly events: Events
  /** The app that asks: `appId(me)`. */
  readonly appId: string
  /** The order of the request; the text may have its own. */
  readonly order: Order
  readonly turn: Turn
}

/**
 * Answers a query: runs it to its end and hands the results to the sink. What is wrong with the text itself is thrown
 * before the first step. It comes to whether the answer is complete; if not, the last message said why.
 */
export function answer(query: Query, request: Request, sink: Sink): Steps<boolean> {
  return runProgram(compileQuery(query, outside), request, sink)
}

/** The same for a query that was compiled. */
export function runProgram(program: Program, request: Request, sink: Sink): Steps<boolean> {
  const session = new Session(request.events, request.appId, request.turn, program.stepsPerEvent)
  return accounted(session, request.turn, run(program, session, request, sink))
}

/** While others had their turn, work was at the expense of theirs. */
function* accounted(session: Session, turn: Turn, steps: Steps<boolean>): Steps<boolean> {
  try {
    for (;;) {
      session.allowance.activate()
      const step = steps.next()
      if (step.done === true) return step.value
      turn.heldBytes = session.heldBytes
      yield
    }
  } finally {
    steps.return(false)
  }
}

/** Throws what is wrong with a query beyond its grammar. */
export function compile(query: Query): void {
  compileQuery(query, outside)
}

/** Compiles a query in steps, to be run; throws the same. */
export function compiled(query: Query): Steps<Program> {
  return compileSteps(query, outside)
}

/** Outside of all queries there are no variables. */
export const outside = new Scope(undefined, false)

function* run(program: Program, session: Session, request: Request, sink: Sink): Steps<boolean> {
  const output = new SinkOutput(program, sink)
  const around = new Frame(0, session, output)
  const order = program.order ?? request.order
  const isOrdered = program.source.kind === 'events'
  const frame = new Frame(program.slots, session, output, isOrdered ? order : undefined, around)
  try {
    return yield* drive(program, frame, around, order, complete)
  } catch (thrown) {
    // An array ends with its first bad item; a source that cannot be opened is an error.
    const failure = caught(thrown)
    sink.diagnostic(isOrdered || failure.fatal ? 'error' : 'warning', failure.message)
    return false
  }
}

const complete: End<boolean> = { close: () => {}, outcome: () => true }

/** Hands results to whoever takes the messages. */
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
    let payload: string
    try {
      payload = writeJson(value)
    } catch (thrown) {
      this.failed(caught(thrown))
      return
    }
    // Of one event several results can be made before somebody takes them.
    spend(payload.length)
    this.#sink.value(payload, metadata, anti)
  }
}
