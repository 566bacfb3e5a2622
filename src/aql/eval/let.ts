import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { attempt, attemptSlowly, type Code } from './code.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** `slot` is where the variable will be looked for. */
export function binding(code: Code, slot: number): StageCode {
  return { quick: code.quick, open: (frame, next) => new Binding(code, slot, frame, next) }
}

class Binding implements Stage {
  readonly brief: boolean
  readonly #code: Code
  readonly #slot: number
  readonly #frame: Frame
  readonly #next: Stage

  constructor(code: Code, slot: number, frame: Frame, next: Stage) {
    this.#code = code
    this.#slot = slot
    this.#frame = frame
    this.#next = next
    this.brief = code.quick && next.brief
  }

  feed(anti: boolean): void {
    if (this.#bind(attempt(this.#code, this.#frame))) this.#next.feed(anti)
  }

  *feedSlowly(anti: boolean): Steps<void> {
    if (!this.#bind(yield* attemptSlowly(this.#code, this.#frame))) return
    if (this.#next.brief) this.#next.feed(anti)
    else yield* this.#next.feedSlowly(anti)
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
