import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { attempt, attemptInSteps, type Code } from './code.ts'
import { notBool } from './operators.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

export function filter(condition: Code): StageCode {
  return { sync: condition.sync, open: (frame, next) => new Filter(condition, frame, next) }
}

class Filter implements Stage {
  readonly bounded: boolean
  readonly #condition: Code
  readonly #frame: Frame
  readonly #next: Stage

  constructor(condition: Code, frame: Frame, next: Stage) {
    this.#condition = condition
    this.#frame = frame
    this.#next = next
    this.bounded = condition.sync && next.bounded
  }

  feed(anti: boolean): void {
    if (this.#passes(attempt(this.#condition, this.#frame))) this.#next.feed(anti)
  }

  *feedInSteps(anti: boolean): Steps<void> {
    if (!this.#passes(yield* attemptInSteps(this.#condition, this.#frame))) return
    if (this.#next.bounded) this.#next.feed(anti)
    else yield* this.#next.feedInSteps(anti)
  }

  #passes(result: Result): boolean {
    if (typeof result === 'boolean') return result
    const failure = result instanceof Failure ? result : notBool(result, this.#condition.origin.of(this.#frame))
    this.#frame.failed(failure)
    return false
  }
}
