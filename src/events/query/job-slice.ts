import type { Slice } from '../../aql/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { NdjsonWriter } from '../../store/reading/index.ts'

/** Steps between two clock reads: at first, and at most. */
const [initialStepsPerCheck, maxStepsPerCheck] = [16, 64]

/** The current time slice of a job: its deadline, and whether the output buffer is full. */
export class JobSlice implements Slice {
  /** Counts slices, so that cursors notice a new one. */
  number = 0
  heldBytes = 0
  readonly #lines: NdjsonWriter
  readonly #clock: Clock
  #deadline = 0
  #isOver = false
  /** Steps between two clock reads, adapted to their duration, and how many of them are left. */
  #stepsPerCheck = initialStepsPerCheck
  #left = initialStepsPerCheck

  constructor(lines: NdjsonWriter, clock: Clock) {
    this.#lines = lines
    this.#clock = clock
  }

  get deadline(): number {
    return this.#deadline
  }

  begin(deadline: number): void {
    this.#deadline = deadline
    this.#isOver = false
    this.number++
  }

  get isFull(): boolean {
    return this.#lines.isFull
  }

  isOver(steps = 1): boolean {
    this.#left -= steps
    if (this.#isOver || this.#left > 0) return this.#isOver
    this.#isOver = this.#clock.steadyMs() >= this.#deadline
    this.#stepsPerCheck = this.#isOver
      ? Math.max(this.#stepsPerCheck / 2, 1)
      : Math.min(this.#stepsPerCheck * 2, maxStepsPerCheck)
    this.#left = this.#stepsPerCheck
    return this.#isOver
  }
}
