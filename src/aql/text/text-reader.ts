import { AqlError } from '../error.ts'
import { isSpace, lineEnd } from './characters.ts'
import { Expected, type Name } from './expected.ts'
import { frame } from './shown-place.ts'

/** Steps between two yields: about a millisecond. */
export const stepsPerYield = 8192

/**
 * A text and how far it has been read. Tokens take the blanks and comments behind them along, so that `at` is always
 * where the next token begins.
 */
export class Reader {
  readonly text: string
  readonly expected = new Expected()
  at = 0
  /** What was done so far: constructs tried and characters passed. It has to stay in proportion to the text. */
  steps = 0
  #blankFrom = -1
  #blankTo = -1
  #dueAt = stepsPerYield

  constructor(text: string) {
    this.text = text
  }

  /** Whether so much was done since the last time that whoever reads in steps gives way now. */
  isDue(): boolean {
    if (this.steps < this.#dueAt) return false
    this.#dueAt = this.steps + stepsPerYield
    return true
  }

  /** Passes blanks and comments. The last stretch is remembered, because its beginning may be come back to many times. */
  skip(): void {
    this.steps++
    if (this.at === this.#blankFrom) {
      this.at = this.#blankTo
      return
    }
    this.#blankFrom = this.at
    let at = this.at
    while (at < this.text.length) {
      if (isSpace(this.text.charCodeAt(at))) at++
      else if (this.text.startsWith('--', at)) at = lineEnd(this.text, at)
      else break
    }
    this.#blankTo = at
    this.pass(at)
  }

  /** Goes on at a later place. */
  pass(to: number): void {
    this.steps += to - this.at
    this.at = to
  }

  /** Reads these characters if they are here, but not the blanks behind them. */
  glued(token: string): boolean {
    this.steps++
    if (!this.text.startsWith(token, this.at)) return false
    this.pass(this.at + token.length)
    return true
  }

  /** Reads these characters if they are here. */
  token(token: string): boolean {
    if (!this.glued(token)) return false
    this.skip()
    return true
  }

  /** Reads a named token if it is here, but not the blanks behind it. The pattern has to be sticky and short. */
  match(name: Name, pattern: RegExp): string | undefined {
    this.steps++
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found === undefined) this.miss(name)
    else this.pass(this.at + found.length)
    return found
  }

  /** A token of this name is not here. */
  miss(name: Name): void {
    this.expected.missedAll([name], this.at)
  }

  syntaxError(): AqlError {
    const { place } = this.expected
    return new AqlError('syntax', frame(this.text, place, this.expected.toString()), place)
  }
}
