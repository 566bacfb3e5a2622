/** Latencies in milliseconds. */
export class Latencies {
  readonly #values: number[] = []

  add(milliseconds: number): void {
    this.#values.push(milliseconds)
  }

  /** A percentile, by its share. */
  within(share: number): number {
    const sorted = [...this.#values].sort((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  }

  toString(): string {
    const text = (share: number) => this.within(share).toFixed(1)
    return `p50 ${text(0.5)} ms, p99 ${text(0.99)} ms, longest ${text(1)} ms`
  }
}
