import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import { attempt, attemptSlowly, type Code } from './code.ts'
import { notBool } from './operators.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

export function filter(condition: Code): StageCode {
  return { quick: condition.quick, open: (frame, next) => new Filter(condition, frame, next) }
}

class Filter implements Stage {
  readonly brief: boolean
  readonly #condition: Code
  readonly #frame: Frame
  readonly #next: Stage

  constructor(condition: Code, frame: Frame, next: Stage) {
    this.#condition = condition
    this.#frame = frame
    this.#next = next
    this.brief = condition.quick && next.brief
  }

  feed(anti: boolean): void {
    if (this.#passes(attempt(this.#condition, this.#frame))) this.#next.feed(anti)
  }

  *feedSlowly(anti: boolean): Steps<void> {
    if (!this.#passes(yield* attemptSlowly(this.#condition, this.#frame))) return
    if (this.#next.brief) this.#next.feed(anti)
    else yield* this.#next.feedSlowly(anti)
  }

  #passes(result: Result): boolean {
    if (typeof result === 'boolean') return result
    const failure = result instanceof Failure ? result : notBool(result, this.#condition.origin.of(this.#frame))
    this.#frame.failed(failure)
    return false
  }
}
