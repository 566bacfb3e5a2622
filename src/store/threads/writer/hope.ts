/** How much there is of it at most, and how much of that is lost when something was in vain. Without any, it is tried now and then only. */
const most = 16
const lost = 4
const tryAgain = 32

/** Whether something is worth trying that takes the processor from others and is of use only sometimes: in four of five cases. */
export class Hope {
  #times = 0
  #left = most

  /** Asked before each time that it could be tried. */
  isThere(): boolean {
    this.#times++
    return this.#left > 0 || this.#times % tryAgain === 0
  }

  /** It was of use. */
  rise(): void {
    this.#left = Math.min(most, this.#left + 1)
  }

  /** It was in vain. */
  sink(): void {
    this.#left = Math.max(0, this.#left - lost)
  }
}
