import type { PingStatistics } from '../snapshot.ts'

/** Pings to count for the rate of failures. */
const window = 50

/** Round trips to a peer, from the pings and pongs that pass. */
export class Pings {
  #sent: { readonly id: number; readonly at: number } | undefined
  #current: number | undefined
  #decay3 = 0
  #decay10 = 0
  #failuresInARow = 0
  /** The last results: whether a pong has come. */
  readonly #results: boolean[] = []

  /** A ping is sent; the one before it had no answer when it is still open. */
  sent(id: number, now: number): void {
    if (this.#sent !== undefined) {
      this.#failuresInARow++
      this.#note(false)
    }
    this.#sent = { id, at: now }
  }

  answered(id: number, now: number): void {
    if (this.#sent?.id !== id) return
    const micros = Math.round((now - this.#sent.at) * 1000)
    this.#sent = undefined
    this.#failuresInARow = 0
    this.#note(true)
    const isFirst = this.#current === undefined
    this.#current = micros
    this.#decay3 = isFirst ? micros : 0.7 * this.#decay3 + 0.3 * micros
    this.#decay10 = isFirst ? micros : 0.9 * this.#decay10 + 0.1 * micros
  }

  /** Undefined until there was an answer. */
  get statistics(): PingStatistics | undefined {
    if (this.#current === undefined) return undefined
    const failed = this.#results.filter((isAnswered) => !isAnswered).length
    return {
      current: this.#current,
      decay3: Math.round(this.#decay3),
      decay10: Math.round(this.#decay10),
      failures: this.#failuresInARow,
      failureRate: Math.round((1_000_000 * failed) / this.#results.length),
    }
  }

  #note(isAnswered: boolean): void {
    this.#results.push(isAnswered)
    if (this.#results.length > window) this.#results.shift()
  }
}
