import { aqlLimits } from '../language-limits.ts'
import type { Steps } from '../steps.ts'
import { caught, Failure } from '../values/failure.ts'
import type { Metadata } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import { attempt } from './code.ts'
import { type Found, foundBy, type ItemCode } from './items.ts'
import { spreadable } from './literals.ts'
import type { Result, Stage, StageCode } from './stage.ts'
import type { Frame } from './variable-frame.ts'

/** `slot` is where the selected values go. */
export function select(items: readonly ItemCode[], slot: number): StageCode {
  const quick = items.every(({ code }) => code.quick)
  return { quick, open: (frame, next) => new Select(items, slot, frame, next) }
}

class Select implements Stage {
  readonly brief: boolean
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
    this.brief = only?.code.quick === true && !only.spread && others.length === 0 && next.brief
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

  *feedSlowly(anti: boolean): Steps<void> {
    const { session } = this.#frame
    const { allowance } = session
    for (const item of this.#items) {
      let found: readonly Found[] = []
      try {
        found = yield* foundBy(item, this.#frame)
      } catch (thrown) {
        this.#frame.failed(caught(thrown))
      }
      const { spent, held } = allowance
      allowance.enter()
      for (const { value, metadata } of found) {
        this.#set(value, metadata)
        if (this.#next.brief) this.#next.feed(anti)
        else yield* this.#next.feedSlowly(anti)
        if (session.step()) yield
      }
      allowance.leave(spent, held)
    }
  }

  /** Stages that make several values of one multiply what they make, without end. */
  #set(value: Value, metadata: Metadata): void {
    if (++this.#frame.selected > aqlLimits.selectedValues) throw tooMany()
    this.#frame.set(this.#slot, value, metadata)
  }

  /** The items of a result that is to be spread. */
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
  return new Failure(`SELECT makes too many values of one (limit selectedValues: ${aqlLimits.selectedValues})`, true)
}
