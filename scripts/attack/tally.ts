/** Counts what an attack has sent, and the responses. */
export class Tally {
  /** Opened TCP connections. */
  connections = 0
  /** Bytes written to the kernel. */
  bytes = 0
  /** Responses of any kind. */
  answered = 0
  readonly #answers = new Map<string, number>()

  /** Counts a response: a status, a close code, a reset, … */
  count(answer: string): void {
    this.answered++
    this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1)
  }

  answersOf(pattern: RegExp): number {
    let sum = 0
    for (const [answer, count] of this.#answers) if (pattern.test(answer)) sum += count
    return sum
  }

  get sent(): string {
    return `${this.connections} connections, ${(this.bytes / 1e6).toFixed(1)} MB`
  }

  get answers(): string {
    if (this.#answers.size === 0) return 'nothing'
    const sorted = [...this.#answers].sort(([a], [b]) => a.localeCompare(b))
    return sorted.map(([answer, count]) => `${count} × ${answer}`).join(', ')
  }
}
