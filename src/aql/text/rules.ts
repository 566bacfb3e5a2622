import type { EventKey, Expr, Micros } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../language-limits.ts'
import { type Nested, Segment } from '../steps.ts'
import { identifierEnd } from './characters.ts'
import type { Time } from './instants.ts'
import { naturalOf, tooLarge } from './number-literals.ts'
import { type Key, noStream } from './object-keys.ts'
import type { Reader } from './text-reader.ts'

/** Levels that the stack is surely enough for. */
const levelsPerSegment = 32

/** Something that is written correctly and still cannot be. */
export interface Fault {
  readonly position: number
  readonly detail: string
}

/** Where expressions stand. At most one is asked for, so that a map of all would be in vain. */
export class Places {
  readonly #exprs: Expr[] = []
  readonly #places: number[] = []

  add(expr: Expr, place: number): void {
    this.#exprs.push(expr)
    this.#places.push(place)
  }

  get(expr: Expr): number | undefined {
    return this.#places[this.#exprs.lastIndexOf(expr)]
  }
}

/**
 * What the rules of the grammar have in common. A rule is a method that reads a construct and returns it, or leaves the
 * reader where it was, notes what it missed there and returns nothing. The first alternative that can be read is final.
 * Rules that can contain others without end are generators: they give way when enough was read.
 */
export abstract class Rules {
  protected readonly reader: Reader
  /** Where the parts of a tree stand that not every place may have. */
  readonly places = new Places()
  #fault: Fault | undefined
  #depth = 0
  #segmentDepth = 0

  constructor(reader: Reader) {
    this.reader = reader
  }

  /** The first thing in the text that cannot be. A text that is no query is told so first. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  /** What was read twice, by way of two alternatives, is noted once. */
  protected note(position: number, detail: string): void {
    if (this.#fault === undefined || position < this.#fault.position) this.#fault = { position, detail }
  }

  /** Goes some levels deeper. Every rule that can contain itself does so, and comes up again by `leave`. */
  protected enter(levels: number): void {
    this.#depth += levels
    if (this.#depth <= aqlLimits.nesting) return
    throw new AqlError('static', `the query is nested more than ${aqlLimits.nesting} levels deep`, this.reader.at)
  }

  protected leave(levels: number): void {
    this.#depth -= levels
  }

  /** A rule that contains itself: as it is or, so deep that the stack may not be enough, in a segment. */
  protected nested<T>(rule: () => Nested<T>): Nested<T> {
    return this.#depth - this.#segmentDepth < levelsPerSegment ? rule() : this.#segment(rule)
  }

  *#segment<T>(rule: () => Nested<T>): Nested<T> {
    const before = this.#segmentDepth
    this.#segmentDepth = this.#depth
    const segment = new Segment(rule())
    yield segment
    this.#segmentDepth = before
    return segment.result as T
  }

  /** A name as it is written: a property's, or a variable's before it is normalised. */
  protected identifier(): string | undefined {
    const { reader } = this
    const start = reader.at
    const end = identifierEnd(reader.text, start)
    if (end === start) {
      reader.miss('ident')
      return undefined
    }
    reader.pass(end)
    reader.skip()
    return reader.text.slice(start, end)
  }

  protected variable(): string | undefined {
    return this.identifier()?.normalize('NFC')
  }

  /** Reads all that a rule needs, or nothing of it. */
  protected whole<T>(rule: () => T | undefined): T | undefined {
    const start = this.reader.at
    const read = rule()
    if (read === undefined) this.reader.at = start
    return read
  }

  /** Reads a rule between two tokens. */
  protected enclosed<T>(open: string, rule: () => T | undefined, close: string): T | undefined {
    return this.whole(() => {
      const read = this.reader.token(open) ? rule() : undefined
      return read !== undefined && this.reader.token(close) ? read : undefined
    })
  }

  /** The same for a rule that gives way. */
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

  protected keyOf(read: Key, position: number): EventKey {
    if ('key' in read) return read.key
    this.note(position, read.fault)
    return { lamport: 0n, stream: noStream }
  }
}
