import type { Query } from '../ast.ts'
import { AqlError } from '../error.ts'
import type { Plan } from '../plan/plan.ts'
import type { AqlEvent } from '../values/event.ts'
import { caught, Failure } from '../values/failure.ts'
import { compileQuery } from './compile.ts'
import { Frame, Session } from './frame.ts'
import type { Sink } from './messages.ts'
import type { Events } from './port.ts'
import { openStages, type Pipeline, planOf } from './program.ts'
import { outside, SinkOutput } from './query.ts'
import { finish } from './steps.ts'

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

  /** `appId` is the app that asks. Throws what is wrong with the text, also with a template in its tags. */
  constructor(query: Query, appId: string, sink: Sink) {
    const program = compileQuery(query, outside)
    if (!program.quick || program.source.kind !== 'events') throw new Error('the features of the query are not checked')
    const output = new SinkOutput(program, sink)
    const session = new Session(noEvents, appId, { isOver: () => false, isFull: false })
    const around = new Frame(0, session, output)
    try {
      this.plan = finish(planOf(program.source, around))
    } catch (thrown) {
      throw new AqlError('static', caught(thrown).message, 0)
    }
    this.#sink = sink
    this.#frame = new Frame(program.slots, session, output, undefined, around)
    this.#pipeline = openStages(program, this.#frame)
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

/** Subscriptions have no nested queries. */
const noEvents: Events = {
  open: () => {
    throw new Failure('nested queries are not supported here')
  },
}
