import type { AggregateOperator } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import { deepEqual } from '../values/deep-equal.ts'
import { estimateBytes } from '../values/estimate-bytes.ts'
import type { AqlEvent } from '../values/event.ts'
import { Failure } from '../values/failure.ts'
import { type Metadata, Span, sameMetadata } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { type Aggregator, aggregator } from './aggregators.ts'
import { attempt, attemptInSteps, type Code, originOf } from './code.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** A compiled aggregator. Equal aggregators of a stage share one. The result goes to a slot of the frame. */
export interface AggregatorCode {
  readonly operator: AggregateOperator
  readonly argument: Code
  readonly slot: number
}

export interface Aggregation {
  /** In the order in which their failures are reported. */
  readonly aggregators: readonly AggregatorCode[]
  /** The expression that uses their results. */
  readonly enclosing: Code
  /** The slot for the value of that expression. */
  readonly slot: number
  /** The event order in which the first input already determines all results. */
  readonly preferred: 'asc' | 'desc' | undefined
}

export interface AggregateCode extends StageCode {
  readonly preferred: 'asc' | 'desc' | undefined
  open(frame: Frame, next: Stage): Aggregate
}

export function aggregate(aggregation: Aggregation): AggregateCode {
  const { enclosing, aggregators, preferred } = aggregation
  const bounded = aggregators.every(({ argument }) => argument.sync)
  const open = (frame: Frame, next: Stage) => new Aggregate(aggregation, bounded, frame, next)
  return { sync: enclosing.sync && bounded, preferred, open }
}

/** Reads the result of an aggregator in the enclosing expression. */
export function aggregated(slot: number): Code {
  const run = (frame: Frame): Value => {
    const failure = frame.failures?.get(slot)
    if (failure !== undefined) throw failure
    return frame.values[slot] as Value
  }
  return { sync: true, run, origin: originOf([{ hops: 0, slot }]) }
}

export class Aggregate implements Stage {
  readonly bounded: boolean
  readonly #aggregation: Aggregation
  readonly #states: readonly { readonly argument: Code; readonly slot: number; readonly state: Aggregator }[]
  readonly #frame: Frame
  readonly #next: Stage
  readonly #sizes: { readonly value: Value; readonly bytes: number }[] = []
  /** The last emitted result. */
  #emitted: { readonly value: Value; readonly metadata: Metadata } | undefined

  constructor(aggregation: Aggregation, bounded: boolean, frame: Frame, next: Stage) {
    this.bounded = bounded
    this.#aggregation = aggregation
    this.#states = aggregation.aggregators.map(({ argument, slot, operator }) => ({
      argument,
      slot,
      state: aggregator(operator),
    }))
    this.#frame = frame
    this.#next = next
    frame.session.opened(this, frame)
  }

  /** Estimated bytes of the retained values and of the events that they come from. */
  get heldBytes(): number {
    const events = new Set<AqlEvent>()
    let bytes = 0
    for (const [at, { state }] of this.#states.entries()) {
      const { held, metadata } = state
      if (held === undefined) continue
      if (metadata !== undefined && !(metadata instanceof Span)) events.add(metadata)
      // Cached, because most values stay the same for long.
      const known = this.#sizes[at]
      const size = known?.value === held ? known : { value: held, bytes: estimateBytes(held, aqlLimits.heldBytes) }
      this.#sizes[at] = size
      bytes += size.bytes
    }
    for (const { heldBytes = 0 } of events) bytes += heldBytes
    return bytes
  }

  feed(anti: boolean): void {
    for (const { argument, state } of this.#states) this.#add(argument, state, attempt(argument, this.#frame), anti)
    this.#checkDone()
  }

  *feedInSteps(anti: boolean): Steps<void> {
    for (const { argument, state } of this.#states)
      this.#add(argument, state, yield* attemptInSteps(argument, this.#frame), anti)
    this.#checkDone()
  }

  #add(argument: Code, state: Aggregator, result: Result, anti: boolean): void {
    if (result instanceof Failure) this.#frame.failed(result)
    else state.add(result, argument.origin.of(this.#frame), anti)
  }

  #checkDone(): void {
    const { preferred } = this.#aggregation
    const isSettledByFirst = preferred !== undefined && preferred === this.#frame.order
    if (!this.isConstant && !isSettledByFirst) return
    if (this.#states.every(({ state }) => !(state.result() instanceof Failure))) this.#frame.done = true
  }

  /** Whether it has no aggregators: the result does not depend on the input. */
  get isConstant(): boolean {
    return this.#states.length === 0
  }

  /** Whether `flush` does a bounded amount of work. */
  get flushIsBounded(): boolean {
    return this.#aggregation.enclosing.sync && this.#next.bounded
  }

  /**
   * Emits the current result. A later call emits only a changed result, after retracting the previous one with an
   * anti-event.
   */
  flush(): void {
    this.#storeResults()
    for (const { value, metadata, anti } of this.#changes(attempt(this.#aggregation.enclosing, this.#frame))) {
      this.#frame.set(this.#aggregation.slot, value, metadata)
      this.#next.feed(anti)
    }
  }

  *flushInSteps(): Steps<void> {
    this.#storeResults()
    for (const { value, metadata, anti } of this.#changes(
      yield* attemptInSteps(this.#aggregation.enclosing, this.#frame),
    )) {
      this.#frame.set(this.#aggregation.slot, value, metadata)
      if (this.#next.bounded) this.#next.feed(anti)
      else yield* this.#next.feedInSteps(anti)
    }
  }

  /** Stores the results in the slots that the enclosing expression reads. */
  #storeResults(): void {
    if (this.isConstant) this.#frame.done = true
    for (const { slot, state } of this.#states) {
      const result = state.result()
      if (result instanceof Failure) {
        this.#frame.failures ??= new Map()
        this.#frame.failures.set(slot, result)
      } else {
        this.#frame.failures?.delete(slot)
        this.#frame.set(slot, result, state.metadata)
      }
    }
  }

  #changes(result: Result): { value: Value; metadata: Metadata; anti: boolean }[] {
    if (result instanceof Failure) {
      this.#frame.failed(result)
      return []
    }
    const metadata = this.#aggregation.enclosing.origin.of(this.#frame)
    const before = this.#emitted
    if (before !== undefined && sameMetadata(before.metadata, metadata) && deepEqual(before.value, result)) return []
    this.#emitted = { value: result, metadata }
    const now = { value: result, metadata, anti: false }
    return before === undefined ? [now] : [{ ...before, anti: true }, now]
  }
}
