import { AqlError } from '../error.ts'
import { isSpace, lineEnd } from './characters.ts'
import { codeFrame } from './code-frame.ts'
import { Expected, type RuleName } from './expected.ts'

/** Steps between two yields; about a millisecond. */
export const stepsPerYield = 8192

/**
 * The scanner: a text and the current position. A token consumes the trivia after it (whitespace and comments), so `at`
 * is always the start of the next token.
 */
export class Reader {
  readonly text: string
  readonly expected = new Expected()
  /** The current position, in UTF-16 code units. */
  at = 0
  /** Work done so far: rules tried and characters consumed. It must stay proportional to the length of the text. */
  steps = 0
  #triviaStart = -1
  #triviaEnd = -1
  #dueAt = stepsPerYield

  constructor(text: string) {
    this.text = text
  }

  /** Whether the parser has to yield, because enough steps were done since the last time. */
  isDue(): boolean {
    if (this.steps < this.#dueAt) return false
    this.#dueAt = this.steps + stepsPerYield
    return true
  }

  /**
   * Skips trivia: whitespace and comments. The last stretch is cached, because backtracking returns to its start often.
   */
  skipTrivia(): void {
    this.steps++
    if (this.at === this.#triviaStart) {
      this.at = this.#triviaEnd
      return
    }
    this.#triviaStart = this.at
    let at = this.at
    while (at < this.text.length) {
      if (isSpace(this.text.charCodeAt(at))) at++
      else if (this.text.startsWith('--', at)) at = lineEnd(this.text, at)
      else break
    }
    this.#triviaEnd = at
    this.advance(at)
  }

  /** Moves the position forward. */
  advance(to: number): void {
    this.steps += to - this.at
    this.at = to
  }

  /** Consumes this literal if it is next, without the trivia after it. */
  literal(token: string): boolean {
    this.steps++
    if (!this.text.startsWith(token, this.at)) return false
    this.advance(this.at + token.length)
    return true
  }

  /** Consumes this token if it is next, with the trivia after it. */
  token(token: string): boolean {
    if (!this.literal(token)) return false
    this.skipTrivia()
    return true
  }

  /** Consumes a named token without the trivia after it. The pattern has to be sticky and match a bounded length. */
  match(name: RuleName, pattern: RegExp): string | undefined {
    this.steps++
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found === undefined) this.miss(name)
    else this.advance(this.at + found.length)
    return found
  }

  /** Records that this token was expected here. */
  miss(name: RuleName): void {
    this.expected.missedAll([name], this.at)
  }

  syntaxError(): AqlError {
    const { position } = this.expected
    return new AqlError('syntax', codeFrame(this.text, position, this.expected.toString()), position)
  }
}
