/** The log lines of a node that say that it restarts a part of itself. */
export class RestartLines {
  readonly #log: readonly string[]
  #read: number
  #count = 0

  constructor(log: readonly string[]) {
    this.#log = log
    this.#read = log.length
  }

  /** How many there are since the beginning. */
  get count(): number {
    for (; this.#read < this.#log.length; this.#read++)
      if (/changing to the topic|restarting with the changed swarm key/.test(this.#log[this.#read] ?? '')) this.#count++
    return this.#count
  }

  /** Whether a log level shows them. */
  static areShown(level: string): boolean {
    return level !== 'ERROR' && level !== 'WARN'
  }
}
