import type { AggregateOperator } from '../ast.ts'
import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import type { AqlEvent } from '../values/event.ts'
import { Failure } from '../values/failure.ts'
import { type Metadata, Span, sameMetadata } from '../values/metadata.ts'
import { same } from '../values/same.ts'
import type { Value } from '../values/value.ts'
import { weightOf } from '../values/weight.ts'
import { type Aggregator, aggregator } from './aggregators.ts'
import { attempt, attemptSlowly, type Code, originOf } from './code.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** One aggregator of the text: the same one standing there twice is one. Its result will stand in a slot. */
export interface AggregatorCode {
  readonly operator: AggregateOperator
  readonly argument: Code
  readonly slot: number
}

export interface Aggregation {
  /** In the order in which their failures are told. */
  readonly aggregators: readonly AggregatorCode[]
  /** What is computed from their results. */
  readonly around: Code
  /** Where that goes. */
  readonly slot: number
  /** The order of events in which all of them know their result after the first input. */
  readonly preferred: 'asc' | 'desc' | undefined
}

export interface AggregateCode extends StageCode {
  readonly preferred: 'asc' | 'desc' | undefined
  open(frame: Frame, next: Stage): Aggregate
}

export function aggregate(aggregation: Aggregation): AggregateCode {
  const { around, aggregators, preferred } = aggregation
  const brief = aggregators.every(({ argument }) => argument.quick)
  const open = (frame: Frame, next: Stage) => new Aggregate(aggregation, brief, frame, next)
  return { quick: around.quick && brief, preferred, open }
}

/** The result of an aggregator, in the expression around it. */
export function aggregated(slot: number): Code {
  const run = (frame: Frame): Value => {
    const failure = frame.failures?.get(slot)
    if (failure !== undefined) throw failure
    return frame.values[slot] as Value
  }
  return { quick: true, run, origin: originOf([{ hops: 0, slot }]) }
}

export class Aggregate implements Stage {
  readonly brief: boolean
  readonly #aggregation: Aggregation
  readonly #states: readonly { readonly argument: Code; readonly slot: number; readonly state: Aggregator }[]
  readonly #frame: Frame
  readonly #next: Stage
  readonly #weighed: { readonly value: Value; readonly bytes: number }[] = []
  /** What was emitted last. */
  #emitted: { readonly value: Value; readonly metadata: Metadata } | undefined

  constructor(aggregation: Aggregation, brief: boolean, frame: Frame, next: Stage) {
    this.brief = brief
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

  /** Bytes of the values that it holds, and of the events that they come from, roughly. */
  get heldBytes(): number {
    const events = new Set<AqlEvent>()
    let bytes = 0
    for (const [at, { state }] of this.#states.entries()) {
      const { held, metadata } = state
      if (held === undefined) continue
      if (metadata !== undefined && !(metadata instanceof Span)) events.add(metadata)
      // Most stay the same for long.
      const known = this.#weighed[at]
      const weighed = known?.value === held ? known : { value: held, bytes: weightOf(held, aqlLimits.heldBytes) }
      this.#weighed[at] = weighed
      bytes += weighed.bytes
    }
    for (const { heldBytes = 0 } of events) bytes += heldBytes
    return bytes
  }

  feed(anti: boolean): void {
    for (const { argument, state } of this.#states) this.#add(argument, state, attempt(argument, this.#frame), anti)
    this.#fed()
  }

  *feedSlowly(anti: boolean): Steps<void> {
    for (const { argument, state } of this.#states)
      this.#add(argument, state, yield* attemptSlowly(argument, this.#frame), anti)
    this.#fed()
  }

  #add(argument: Code, state: Aggregator, result: Result, anti: boolean): void {
    if (result instanceof Failure) this.#frame.failed(result)
    else state.add(result, argument.origin.of(this.#frame), anti)
  }

  #fed(): void {
    const { preferred } = this.#aggregation
    const isSettling = preferred !== undefined && preferred === this.#frame.order
    if (!this.isConstant && !isSettling) return
    if (this.#states.every(({ state }) => !(state.result() instanceof Failure))) this.#frame.done = true
  }

  /** Whether no input makes a difference. */
  get isConstant(): boolean {
    return this.#states.length === 0
  }

  /** Whether `flush` does not take long. */
  get flushesBriefly(): boolean {
    return this.#aggregation.around.quick && this.#next.brief
  }

  /** Emits what it has come to; on later calls only if that has changed, and takes back what it emitted before. */
  flush(): void {
    this.#show()
    for (const { value, metadata, anti } of this.#changes(attempt(this.#aggregation.around, this.#frame))) {
      this.#frame.set(this.#aggregation.slot, value, metadata)
      this.#next.feed(anti)
    }
  }

  *flushSlowly(): Steps<void> {
    this.#show()
    for (const { value, metadata, anti } of this.#changes(
      yield* attemptSlowly(this.#aggregation.around, this.#frame),
    )) {
      this.#frame.set(this.#aggregation.slot, value, metadata)
      if (this.#next.brief) this.#next.feed(anti)
      else yield* this.#next.feedSlowly(anti)
    }
  }

  /** Puts the results where the expression around them looks for them. */
  #show(): void {
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
    const metadata = this.#aggregation.around.origin.of(this.#frame)
    const before = this.#emitted
    if (before !== undefined && sameMetadata(before.metadata, metadata) && same(before.value, result)) return []
    this.#emitted = { value: result, metadata }
    const now = { value: result, metadata, anti: false }
    return before === undefined ? [now] : [{ ...before, anti: true }, now]
  }
}
