/** What an attack sent and how the node answered, counted. */
export class Tally {
  /** TCP connections that were opened. */
  connections = 0
  /** Bytes that were handed to the kernel. */
  bytes = 0
  /** Answers of any kind. */
  answered = 0
  readonly #answers = new Map<string, number>()

  /** Counts an answer: a status, a close code, a reset, … */
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
