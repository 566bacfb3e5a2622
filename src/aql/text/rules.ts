import type { EventKeyLiteral, Expr, Micros } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../language-limits.ts'
import { DeferredCall, type Nested } from '../steps.ts'
import { identifierEnd } from './characters.ts'
import { type Key, noStream } from './event-keys.ts'
import type { Time } from './instants.ts'
import { naturalOf, tooLarge } from './number-literals.ts'
import type { Reader } from './text-reader.ts'

/** Nesting levels that run on one stack before a call is deferred to the trampoline. */
const levelsPerStack = 32

/** A static error found while parsing: the text matches the grammar, but the value is invalid. */
export interface Fault {
  readonly position: number
  readonly detail: string
}

/** Source positions of AST nodes. At most one lookup is made, so two arrays are cheaper than a map. */
export class NodePositions {
  readonly #exprs: Expr[] = []
  readonly #positions: number[] = []

  add(expr: Expr, position: number): void {
    this.#exprs.push(expr)
    this.#positions.push(position)
  }

  get(expr: Expr): number | undefined {
    return this.#positions[this.#exprs.lastIndexOf(expr)]
  }
}

/**
 * Base class of the recursive-descent parser. A rule is a method that parses a construct and returns it, or backtracks,
 * records the failure and returns `undefined`. Choice is ordered, as in a PEG: the first alternative that matches is
 * final. Recursive rules are generators, so that parsing can yield.
 */
export abstract class Rules {
  protected readonly reader: Reader
  /** Positions of the AST nodes that the static checks may reject. */
  readonly positions = new NodePositions()
  #fault: Fault | undefined
  #depth = 0
  #stackBase = 0

  constructor(reader: Reader) {
    this.reader = reader
  }

  /** The first static error in the text. A syntax error takes precedence over it. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  /** Records a static error. Two alternatives may report the same one, so only the first position is kept. */
  protected note(position: number, detail: string): void {
    if (this.#fault === undefined || position < this.#fault.position) this.#fault = { position, detail }
  }

  /** Increases the nesting depth and checks the limit. Every recursive rule does so; `leave` is the counterpart. */
  protected enter(levels: number): void {
    this.#depth += levels
    if (this.#depth <= aqlLimits.nesting) return
    throw new AqlError('static', `the query is nested more than ${aqlLimits.nesting} levels deep`, this.reader.at)
  }

  protected leave(levels: number): void {
    this.#depth -= levels
  }

  /** Calls a recursive rule: directly, or deferred to the trampoline when the stack gets deep. */
  protected nested<T>(rule: () => Nested<T>): Nested<T> {
    return this.#depth - this.#stackBase < levelsPerStack ? rule() : this.#deferred(rule)
  }

  *#deferred<T>(rule: () => Nested<T>): Nested<T> {
    const before = this.#stackBase
    this.#stackBase = this.#depth
    const deferred = new DeferredCall(rule())
    yield deferred
    this.#stackBase = before
    return deferred.result as T
  }

  /** An identifier, verbatim: a property name, or a variable name before normalisation. */
  protected identifier(): string | undefined {
    const { reader } = this
    const start = reader.at
    const end = identifierEnd(reader.text, start)
    if (end === start) {
      reader.miss('ident')
      return undefined
    }
    reader.advance(end)
    reader.skipTrivia()
    return reader.text.slice(start, end)
  }

  protected variable(): string | undefined {
    return this.identifier()?.normalize('NFC')
  }

  /** Runs a rule and resets the position if it fails. */
  protected backtracking<T>(rule: () => T | undefined): T | undefined {
    const start = this.reader.at
    const read = rule()
    if (read === undefined) this.reader.at = start
    return read
  }

  /** Parses a rule between two tokens. */
  protected enclosed<T>(open: string, rule: () => T | undefined, close: string): T | undefined {
    return this.backtracking(() => {
      const read = this.reader.token(open) ? rule() : undefined
      return read !== undefined && this.reader.token(close) ? read : undefined
    })
  }

  /** `enclosed` for a rule that yields. */
  protected *enclosedNested<T>(open: string, rule: () => Nested<T | undefined>, close: string): Nested<T | undefined> {
    const { reader } = this
    const start = reader.at
    const read = reader.token(open) ? yield* rule() : undefined
    if (read !== undefined && reader.token(close)) return read
    reader.at = start
    return undefined
  }

  protected naturalOf(digits: string, position: number): bigint {
    const value = naturalOf(digits)
    if (value === undefined) this.note(position, tooLarge)
    return value ?? 0n
  }

  protected timeOf(read: Time, position: number): Micros {
    if ('time' in read) return read.time
    this.note(position, read.fault)
    return 0n
  }

  protected keyOf(read: Key, position: number): EventKeyLiteral {
    if ('key' in read) return read.key
    this.note(position, read.fault)
    return { lamport: 0n, stream: noStream }
  }
}
