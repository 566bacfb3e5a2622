import type { Turn } from '../../aql/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { NdjsonWriter } from '../../store/reading/index.ts'

/** Steps without a look at the clock: as long as nobody knows how long they take, and when they are quick. */
const [firstPerLook, mostPerLook] = [16, 64]

/** The turns of one job: until when it may work, and whether what it has written has to be taken first. */
export class JobTurn implements Turn {
  /** Counts turns, so that cursors see when another one has begun. */
  number = 0
  heldBytes = 0
  readonly #lines: NdjsonWriter
  readonly #clock: Clock
  #deadline = 0
  #isOver = false
  /** Steps between two looks at the clock, and how many of them are left: the longer they take, the fewer. */
  #perLook = firstPerLook
  #left = firstPerLook

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
    this.#perLook = this.#isOver ? Math.max(this.#perLook / 2, 1) : Math.min(this.#perLook * 2, mostPerLook)
    this.#left = this.#perLook
    return this.#isOver
  }
}
