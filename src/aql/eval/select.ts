import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import { caught, Failure } from '../values/failure.ts'
import type { Metadata } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { attempt } from './code.ts'
import { evaluateItem, type ItemCode, type ItemResult } from './items.ts'
import { spreadable } from './literals.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** SELECT: writes each value to `slot`. */
export function select(items: readonly ItemCode[], slot: number): StageCode {
  const sync = items.every(({ code }) => code.sync)
  return { sync, open: (frame, next) => new Select(items, slot, frame, next) }
}

class Select implements Stage {
  readonly bounded: boolean
  readonly #items: readonly ItemCode[]
  readonly #slot: number
  readonly #frame: Frame
  readonly #next: Stage

  constructor(items: readonly ItemCode[], slot: number, frame: Frame, next: Stage) {
    this.#items = items
    this.#slot = slot
    this.#frame = frame
    this.#next = next
    const [only, ...others] = items
    this.bounded = only?.code.sync === true && !only.spread && others.length === 0 && next.bounded
  }

  feed(anti: boolean): void {
    const frame = this.#frame
    for (const { code, spread } of this.#items) {
      const result = attempt(code, frame)
      const metadata = code.origin.of(frame)
      if (!spread && !(result instanceof Failure)) {
        this.#set(result, metadata)
        this.#next.feed(anti)
        continue
      }
      for (const value of this.#several(result)) {
        this.#set(value, metadata)
        this.#next.feed(anti)
      }
    }
  }

  *feedInSteps(anti: boolean): Steps<void> {
    const { session } = this.#frame
    const { allowance } = session
    for (const item of this.#items) {
      let found: readonly ItemResult[] = []
      try {
        found = yield* evaluateItem(item, this.#frame)
      } catch (thrown) {
        this.#frame.failed(caught(thrown))
      }
      const { spent, held } = allowance
      allowance.enter()
      for (const { value, metadata } of found) {
        this.#set(value, metadata)
        if (this.#next.bounded) this.#next.feed(anti)
        else yield* this.#next.feedInSteps(anti)
        if (session.step()) yield
      }
      allowance.leave(spent, held)
    }
  }

  /** Limits the fan-out: successive SELECT stages multiply the number of values. */
  #set(value: Value, metadata: Metadata): void {
    if (++this.#frame.selected > aqlLimits.selectedValues) throw tooMany()
    this.#frame.set(this.#slot, value, metadata)
  }

  /** The items of a spread result. */
  #several(result: Result): readonly Value[] {
    try {
      if (result instanceof Failure) throw result
      return spreadable(result)
    } catch (thrown) {
      this.#frame.failed(caught(thrown))
      return []
    }
  }
}

function tooMany(): Failure {
  return new Failure(
    `SELECT produces too many values from one input (limit selectedValues: ${aqlLimits.selectedValues})`,
    true,
  )
}
