import type { Query } from '../ast.ts'
import { AqlError } from '../error.ts'
import type { Plan } from '../plan/plan.ts'
import { runToEnd, type Steps } from '../steps.ts'
import type { AqlEvent } from '../values/event.ts'
import { caught, Failure } from '../values/failure.ts'
import { compileSteps } from './compile.ts'
import type { EventProvider } from './event-provider.ts'
import type { Sink } from './messages.ts'
import { openStages, type Pipeline, type Program, planOf } from './program.ts'
import { rootScope, SinkOutput } from './query.ts'
import { Frame, Session } from './variable-frame.ts'

/**
 * The pipeline of a live query. The caller pushes the events of the plan: first the stored ones in ascending order,
 * then new ones as they arrive. For `subscribe`, it calls `flush` after the stored ones and after each burst of new
 * ones; for `subscribe_monotonic` never.
 */
export class Subscription {
  /** Selects the events to push. */
  readonly plan: Plan
  readonly #sink: Sink
  readonly #frame: Frame
  readonly #pipeline: Pipeline
  #broken = false
  /** Whether events arrived since the last flush. */
  #isDirty = true

  /** Cost of one event in steps of a time slice. */
  readonly stepsPerEvent: number

  /** `appId` is the requesting app. Throws static errors and failures of tag templates. */
  constructor(query: Query, appId: string, sink: Sink, prepared: Prepared = runToEnd(prepare(query, appId, sink))) {
    const { program, outer, plan } = prepared
    this.plan = plan
    this.stepsPerEvent = program.stepsPerEvent
    this.#sink = sink
    this.#frame = new Frame(program.slots, outer.session, outer.output, undefined, outer)
    this.#pipeline = openStages(program, this.#frame)
  }

  /** Cooperative variant: yields between units of work. */
  static *open(query: Query, appId: string, sink: Sink): Steps<Subscription> {
    return new Subscription(query, appId, sink, yield* prepare(query, appId, sink))
  }

  /** Estimated bytes that the aggregates hold. */
  get heldBytes(): number {
    return this.#frame.session.heldBytes
  }

  /** Whether it will emit no more results. */
  get done(): boolean {
    return this.#broken || this.#frame.done
  }

  push(event: AqlEvent): void {
    if (this.done) return
    this.#isDirty = true
    this.#guarded(() => {
      this.#frame.setEvent(event)
      this.#pipeline.first.feed(false)
    })
  }

  /** Emits the results of aggregates that have changed since the last flush. */
  flush(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    for (const aggregate of this.#pipeline.aggregates) {
      if (!this.#broken) this.#guarded(() => aggregate.flush())
    }
  }

  /** A failure that a stage throws, and does not report, is fatal: it ends the subscription. */
  #guarded(work: () => void): void {
    const { allowance } = this.#frame.session
    allowance.activate()
    try {
      work()
      allowance.releaseTransient()
    } catch (thrown) {
      this.#broken = true
      this.#sink.diagnostic('error', caught(thrown).message)
    }
  }
}

interface Prepared {
  readonly program: Program
  readonly outer: Frame
  readonly plan: Plan
}

function* prepare(query: Query, appId: string, sink: Sink): Steps<Prepared> {
  const program = yield* compileSteps(query, rootScope)
  if (!program.sync || program.source.kind !== 'events') throw new Error('the features of the query were not checked')
  const session = new Session(noEvents, appId, { isOver: () => false, isFull: false })
  const outer = new Frame(0, session, new SinkOutput(program, sink))
  try {
    return { program, outer, plan: yield* planOf(program.source, outer) }
  } catch (thrown) {
    throw new AqlError('static', caught(thrown).message, 0)
  }
}

/** Never opened: sub-queries are rejected for subscriptions. */
const noEvents: EventProvider = {
  open: () => {
    throw new Failure('nested queries are not supported here')
  },
}
