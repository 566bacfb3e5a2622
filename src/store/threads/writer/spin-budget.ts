/** The highest score, what a failed spin costs, and how often a spin is tried at score 0: in one of 32 cases. */
const highest = 16
const missCost = 4
const retryEvery = 32

/** Adaptive spinning: a score decides whether busy-waiting pays off, which it does if four of five spins succeed. */
export class SpinBudget {
  #attempts = 0
  #score = highest

  /** Whether to spin this time; asked before each attempt. */
  allows(): boolean {
    this.#attempts++
    return this.#score > 0 || this.#attempts % retryEvery === 0
  }

  /** The spin succeeded. */
  hit(): void {
    this.#score = Math.min(highest, this.#score + 1)
  }

  /** The spin was in vain. */
  miss(): void {
    this.#score = Math.max(0, this.#score - missCost)
  }
}
