import { limits } from '../base/limits.ts'
import { type Level, levels } from './level-filter.ts'
import { jsonLine, type LogRecord } from './line-format.ts'

/** A log line as JSON, with what it is selected by. */
export interface RecentLine {
  readonly micros: number
  readonly level: Level
  readonly text: string
}

/** The newest log lines of the process, for operators who ask for them later or follow them. */
export class RecentLines {
  #lines: RecentLine[] = []
  #characters = 0
  readonly #listeners = new Set<(line: RecentLine) => void>()

  add(record: LogRecord): void {
    const line = { micros: record.micros, level: record.level, text: jsonLine(record) }
    this.#lines.push(line)
    this.#characters += line.text.length
    this.#forgetOldest()
    for (const listener of this.#listeners) listener(line)
  }

  /** The oldest first. */
  get lines(): readonly RecentLine[] {
    return this.#lines
  }

  /** Calls a listener for each new line. Returns the function that ends it. */
  onLine(listener: (line: RecentLine) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #forgetOldest(): void {
    const { logLinesKept, logCharactersKept } = limits
    let forgotten = 0
    while (this.#lines.length - forgotten > logLinesKept || this.#characters > logCharactersKept)
      this.#characters -= this.#lines[forgotten++]?.text.length ?? 0
    if (forgotten > 0) this.#lines = this.#lines.slice(forgotten)
  }
}

/** Whether a level is at least as severe as another one. */
export function isAtLeast(level: Level, least: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(least)
}
