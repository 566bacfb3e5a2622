import type { Steps } from '../steps.ts'
import type { Failure } from '../values/failure.ts'
import type { Value } from '../values/value.ts'
import type { Frame } from './variable-frame.ts'

/** A stage while a query runs. What it gets stands in a slot of the frame, which it knows; so does what it hands on. */
export interface Stage {
  /** Whether `feed` does not take long: there is no sub-query from here on, and no more values than come in. */
  readonly brief: boolean
  feed(anti: boolean): void
  /** The same, but it gives way. */
  feedSlowly(anti: boolean): Steps<void>
}

/** A stage of a compiled query. */
export interface StageCode {
  readonly quick: boolean
  open(frame: Frame, next: Stage): Stage
}

/** The end of all stages. */
export class Emission implements Stage {
  readonly brief = true
  readonly #frame: Frame
  readonly #slot: number

  constructor(frame: Frame, slot: number) {
    this.#frame = frame
    this.#slot = slot
  }

  feed(anti: boolean): void {
    this.#frame.output.emit(this.#frame, this.#slot, anti)
  }

  // biome-ignore lint/correctness/useYield: it has the shape of the others.
  *feedSlowly(anti: boolean): Steps<void> {
    this.feed(anti)
  }
}

export type Result = Value | Failure
