import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { attempt, attemptInSteps, type Code } from './code.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** LET: binds a variable to `slot`. */
export function binding(code: Code, slot: number): StageCode {
  return { sync: code.sync, open: (frame, next) => new Binding(code, slot, frame, next) }
}

class Binding implements Stage {
  readonly bounded: boolean
  readonly #code: Code
  readonly #slot: number
  readonly #frame: Frame
  readonly #next: Stage

  constructor(code: Code, slot: number, frame: Frame, next: Stage) {
    this.#code = code
    this.#slot = slot
    this.#frame = frame
    this.#next = next
    this.bounded = code.sync && next.bounded
  }

  feed(anti: boolean): void {
    if (this.#bind(attempt(this.#code, this.#frame))) this.#next.feed(anti)
  }

  *feedInSteps(anti: boolean): Steps<void> {
    if (!this.#bind(yield* attemptInSteps(this.#code, this.#frame))) return
    if (this.#next.bounded) this.#next.feed(anti)
    else yield* this.#next.feedInSteps(anti)
  }

  #bind(result: Result): boolean {
    if (result instanceof Failure) {
      this.#frame.failed(result)
      return false
    }
    this.#frame.set(this.#slot, result, this.#code.origin.of(this.#frame))
    return true
  }
}
