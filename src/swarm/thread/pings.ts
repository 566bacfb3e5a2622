import type { PingStatistics } from '../snapshot.ts'

/** Round trips above an hour count as an hour. */
const maxMicros = 3_600_000_000

/** What is told about pings; the round trip in microseconds. */
export interface PingEvents {
  answered(micros: number): void
  failed(): void
}

/** Round trips to a peer, from the pings and pongs that pass. */
export class Pings {
  #sent: { readonly id: number; readonly at: number } | undefined
  #current: number | undefined
  #decay3 = 0
  #decay10 = 0
  #failuresInARow = 0
  /** In millionths: each failure adds a hundredth, and each ping takes a hundredth of it away. */
  #failureRate = 0
  readonly #events: PingEvents

  constructor(events: PingEvents) {
    this.#events = events
  }

  /** A ping is sent; the one before it had no answer when it is still open. */
  sent(id: number, now: number): void {
    if (this.#sent !== undefined) {
      this.#failuresInARow++
      this.#note(false)
      this.#events.failed()
    }
    this.#sent = { id, at: now }
  }

  answered(id: number, now: number): void {
    if (this.#sent?.id !== id) return
    const micros = Math.min(maxMicros, Math.round((now - this.#sent.at) * 1000))
    this.#sent = undefined
    this.#failuresInARow = 0
    this.#note(true)
    this.#events.answered(micros)
    const isFirst = this.#current === undefined
    this.#current = micros
    this.#decay3 = isFirst ? micros : 0.7 * this.#decay3 + 0.3 * micros
    this.#decay10 = isFirst ? micros : 0.9 * this.#decay10 + 0.1 * micros
  }

  /** Undefined until there was an answer. */
  get statistics(): PingStatistics | undefined {
    if (this.#current === undefined) return undefined
    return {
      current: this.#current,
      decay3: Math.round(this.#decay3),
      decay10: Math.round(this.#decay10),
      failures: this.#failuresInARow,
      failureRate: Math.round(this.#failureRate),
    }
  }

  #note(isAnswered: boolean): void {
    this.#failureRate = 0.99 * this.#failureRate + (isAnswered ? 0 : 10_000)
  }
}
