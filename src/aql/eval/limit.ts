import type { Steps } from '../steps.ts'
import { Failure } from '../values/failure.ts'
import type { Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

export function limit(count: bigint): StageCode {
  return { sync: true, open: (frame, next) => new Limit(Number(count), frame, next) }
}

class Limit implements Stage {
  readonly bounded: boolean
  #left: number
  readonly #frame: Frame
  readonly #next: Stage

  constructor(count: number, frame: Frame, next: Stage) {
    this.#left = count
    this.#frame = frame
    this.#next = next
    this.bounded = next.bounded
  }

  feed(anti: boolean): void {
    if (this.#passes(anti)) this.#next.feed(anti)
  }

  *feedInSteps(anti: boolean): Steps<void> {
    if (!this.#passes(anti)) return
    if (this.#next.bounded) this.#next.feed(anti)
    else yield* this.#next.feedInSteps(anti)
  }

  #passes(anti: boolean): boolean {
    if (anti) {
      if (this.#left === 0) throw new Failure('anti-input cannot be processed in saturated LIMIT', true)
      this.#left++
      return true
    }
    if (this.#left === 0) return false
    this.#left--
    if (this.#left === 0) this.#frame.done = true
    return true
  }
}
