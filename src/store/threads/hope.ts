/** After being in vain so often in a row, something is tried now and then only. */
const mostMissed = 3
const tryAgain = 64

/** Whether something is worth trying that takes the processor from others and is of use only sometimes. */
export class Hope {
  #times = 0
  #missed = 0

  /** Asked before each time that it could be tried. */
  isThere(): boolean {
    this.#times++
    return this.#missed < mostMissed || this.#times % tryAgain === 0
  }

  /** It was of use. */
  rise(): void {
    this.#missed = 0
  }

  /** It was in vain. */
  sink(): void {
    this.#missed++
  }
}
