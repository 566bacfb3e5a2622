import { limits } from '../../base/limits.ts'

/** Counts by reason. Reasons beyond a limit are counted together: some of them have numbers and names in them. */
export class ReasonCounts {
  readonly #counts = new Map<string, number>()

  add(reason: string): void {
    const key = this.#counts.has(reason) || this.#counts.size < limits.countedReasons ? reason : 'other'
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }
}
