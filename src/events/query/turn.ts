import type { Turn } from '../../aql/index.ts'
import type { NdjsonWriter } from '../../store/log/index.ts'

/** The turns of one job: until when it may work, and whether what it has written has to be taken first. */
export class JobTurn implements Turn {
  /** Counts turns, so that cursors see when another one has begun. */
  number = 0
  readonly #lines: NdjsonWriter
  #deadline = 0

  constructor(lines: NdjsonWriter) {
    this.#lines = lines
  }

  get deadline(): number {
    return this.#deadline
  }

  begin(deadline: number): void {
    this.#deadline = deadline
    this.number++
  }

  get isFull(): boolean {
    return this.#lines.isFull
  }

  isOver(): boolean {
    return performance.now() >= this.#deadline
  }
}
