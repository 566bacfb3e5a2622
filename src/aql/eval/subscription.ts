import type { Query } from '../ast.ts'
import { AqlError } from '../error.ts'
import type { Plan } from '../plan/plan.ts'
import { finish, type Steps } from '../steps.ts'
import type { AqlEvent } from '../values/event.ts'
import { caught, Failure } from '../values/failure.ts'
import { compileSteps } from './compile.ts'
import type { Events } from './event-source.ts'
import type { Sink } from './messages.ts'
import { openStages, type Pipeline, type Program, planOf } from './program.ts'
import { outside, SinkOutput } from './query.ts'
import { Frame, Session } from './variable-frame.ts'

/**
 * The stages of a query that goes on as events come. Whoever has the events pushes those of the plan, first the stored
 * ones in ascending order, then new ones as they arrive. For `subscribe`, `flush` comes after the stored ones and after
 * each burst of new ones; for `subscribe_monotonic` it never does.
 */
export class Subscription {
  /** Which events to push. */
  readonly plan: Plan
  readonly #sink: Sink
  readonly #frame: Frame
  readonly #pipeline: Pipeline
  #broken = false
  /** Whether aggregates may come to something else than the last time. */
  #hasNews = true

  /** How much work one event is, in steps of a turn. */
  readonly stepsPerEvent: number

  /** `appId` is the app that asks. Throws what is wrong with the text, also with a template in its tags. */
  constructor(query: Query, appId: string, sink: Sink, opened: Opened = finish(opening(query, appId, sink))) {
    const { program, around, plan } = opened
    this.plan = plan
    this.stepsPerEvent = program.stepsPerEvent
    this.#sink = sink
    this.#frame = new Frame(program.slots, around.session, around.output, undefined, around)
    this.#pipeline = openStages(program, this.#frame)
  }

  /** The same in steps. */
  static *open(query: Query, appId: string, sink: Sink): Steps<Subscription> {
    return new Subscription(query, appId, sink, yield* opening(query, appId, sink))
  }

  /** Bytes that its aggregates hold, roughly. */
  get heldBytes(): number {
    return this.#frame.session.heldBytes
  }

  /** Whether nothing more will come of it. */
  get done(): boolean {
    return this.#broken || this.#frame.done
  }

  push(event: AqlEvent): void {
    if (this.done) return
    this.#hasNews = true
    this.#guarded(() => {
      this.#frame.setEvent(event)
      this.#pipeline.first.feed(false)
    })
  }

  /** Lets aggregates say what they have come to, if that is not what they said before. */
  flush(): void {
    if (!this.#hasNews) return
    this.#hasNews = false
    for (const aggregate of this.#pipeline.aggregates) {
      if (!this.#broken) this.#guarded(() => aggregate.flush())
    }
  }

  /** A value that cannot be taken back ends it all. */
  #guarded(work: () => void): void {
    const { allowance } = this.#frame.session
    allowance.activate()
    try {
      work()
      allowance.settle()
    } catch (thrown) {
      this.#broken = true
      this.#sink.diagnostic('error', caught(thrown).message)
    }
  }
}

interface Opened {
  readonly program: Program
  readonly around: Frame
  readonly plan: Plan
}

function* opening(query: Query, appId: string, sink: Sink): Steps<Opened> {
  const program = yield* compileSteps(query, outside)
  if (!program.quick || program.source.kind !== 'events') throw new Error('the features of the query are not checked')
  const session = new Session(noEvents, appId, { isOver: () => false, isFull: false })
  const around = new Frame(0, session, new SinkOutput(program, sink))
  try {
    return { program, around, plan: yield* planOf(program.source, around) }
  } catch (thrown) {
    throw new AqlError('static', caught(thrown).message, 0)
  }
}

/** Subscriptions have no nested queries. */
const noEvents: Events = {
  open: () => {
    throw new Failure('nested queries are not supported here')
  },
}
