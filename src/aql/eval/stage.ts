import type { Steps } from '../steps.ts'
import type { Failure } from '../values/failure.ts'
import type { Value } from '../values/value.ts'
import type { Frame } from './variable-frame.ts'

/** A stage of a running query. It reads its input from a slot of the frame and writes its output to one. */
export interface Stage {
  /** Whether `feed` does a bounded amount of work: no sub-query and no fan-out from here on. */
  readonly bounded: boolean
  feed(anti: boolean): void
  /** Cooperative variant of `feed`. */
  feedInSteps(anti: boolean): Steps<void>
}

/** A stage of a compiled query. */
export interface StageCode {
  readonly sync: boolean
  open(frame: Frame, next: Stage): Stage
}

/** The last stage: emits results to the output. */
export class Emission implements Stage {
  readonly bounded = true
  readonly #frame: Frame
  readonly #slot: number

  constructor(frame: Frame, slot: number) {
    this.#frame = frame
    this.#slot = slot
  }

  feed(anti: boolean): void {
    this.#frame.output.emit(this.#frame, this.#slot, anti)
  }

  // biome-ignore lint/correctness/useYield: the interface requires a generator.
  *feedInSteps(anti: boolean): Steps<void> {
    this.feed(anti)
  }
}

export type Result = Value | Failure
