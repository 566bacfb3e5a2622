import { isUtf8 } from 'node:buffer'
import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { errorAt, firstInvalid, JsonError, typeName } from './json-error.ts'
import { lowestByte, needsNoEscape, notPlain, viewOf } from './plain-text.ts'

export { JsonError }

/** Receives the bytes of a JSON value without insignificant whitespace. */
export interface ByteSink {
  bytes(bytes: Uint8Array, start: number, end: number): unknown
}

const quote = 0x22
const backslash = 0x5c
const [comma, colon, minus, plus, dot] = [0x2c, 0x3a, 0x2d, 0x2b, 0x2e]

/** The brackets of arrays and objects. */
export const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

const [zero, nine, lowerE, upperE, lowerU] = [0x30, 0x39, 0x65, 0x45, 0x75]
const literals = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))

const noNames: readonly Buffer[] = []

/** Lookup table of the characters that may follow a backslash; `u` takes four hex digits. */
const escapes = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrtu'.includes(String.fromCharCode(byte)) ? 1 : 0,
)
const hexDigits = Uint8Array.from({ length: 256 }, (_, byte) => (/[0-9a-fA-F]/.test(String.fromCharCode(byte)) ? 1 : 0))

/** Stack of closing brackets. All scanners share it, since a scanner never pauses within a value. */
const closing = new Uint8Array(format.jsonNesting)

/** A number with fewer characters and without an exponent is always in the range of a double. */
const safeLength = 300

/**
 * A single-pass JSON scanner that validates strictly by RFC 8259 and parses lazily: it makes no values unless asked to.
 * Numbers beyond the range of a double, and nesting beyond the limit, are errors too.
 */
export class JsonScanner {
  readonly bytes: Buffer
  readonly view: DataView
  /** The position of the next byte to scan. */
  at = 0
  /** The range of the text. */
  #start = 0
  #end: number
  readonly #maxValues: number
  #values = 0
  /** Receives the bytes of the current value; `#from` is the start of what was not copied yet. */
  #sink: ByteSink | undefined
  #from = 0
  /** Insignificant whitespace is an error. */
  #isCompact = false

  /** `utf8` is `checked` when the caller has checked it, for the ranges that it scans. */
  constructor(bytes: Buffer, maxValues = Number.POSITIVE_INFINITY, utf8: 'check' | 'checked' = 'check') {
    // Normalises the hidden class: a buffer from the network has another one than a concatenated buffer. Code that
    // handles both is polymorphic and slower, and code optimised for one is deoptimised when the other one arrives.
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#end = bytes.length
    this.view = viewOf(bytes)
    this.#maxValues = maxValues
    if (utf8 === 'check' && !isUtf8(bytes)) throw this.error('invalid unicode code point', firstInvalid(bytes))
  }

  /** Skips whitespace and peeks at the next byte; -1 at the end. */
  next(): number {
    const byte = this.at < this.#end ? (this.bytes[this.at] as number) : -1
    return byte > 0x20 ? byte : this.#skipSpace()
  }

  /** Skips the opening bracket of an array or object. */
  open(bracket: number, expected: string): void {
    const byte = this.next()
    if (byte !== bracket) throw this.#wrongType(byte, expected)
    this.at++
  }

  /** Whether an array or object has a first item; skips the closing bracket of an empty one. */
  begins(close: number): boolean {
    if (this.next() !== close) return true
    this.at++
    return false
  }

  /** Whether another item follows; skips the comma or the closing bracket. */
  continues(close: number): boolean {
    const byte = this.next()
    if (byte !== comma && byte !== close) throw this.error(`expected \`,\` or \`${String.fromCharCode(close)}\``)
    this.at++
    return byte === comma
  }

  /** Skips the key of a member and its colon. Returns its index in `names`, or -1. */
  key(names: readonly Buffer[]): number {
    const byte = this.next()
    if (byte !== quote) throw this.error('key must be a string')
    const start = this.at + 1
    for (let i = 0; i < names.length; i++) if (this.#skipKey(names[i] as Buffer, start)) return i
    const isPlain = this.string()
    const end = this.at - 1
    if (this.next() !== colon) throw this.error('expected `:`')
    this.at++
    if (!isPlain) return names.findIndex((name) => name.toString() === this.text(start, end))
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as Buffer
      if (name.length === end - start && this.#matchesAt(name, start)) return i
    }
    return -1
  }

  /** Fast path: skips a key and its colon if it equals `name`, byte by byte, without whitespace. Returns if it did. */
  #skipKey(name: Buffer, start: number): boolean {
    const { bytes } = this
    const end = start + name.length
    if (end + 2 > this.#end || bytes[end] !== quote || bytes[end + 1] !== colon) return false
    if (!this.#matchesAt(name, start)) return false
    this.at = end + 2
    return true
  }

  /** Decodes the string between two quotes, given the range of bytes without the quotes. */
  text(start: number, end: number): string {
    const text = this.bytes.toString('utf8', start, end)
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
  }

  /** Checks that only whitespace follows. */
  finish(): void {
    if (this.next() >= 0) throw this.error('trailing characters')
  }

  /** Skips a value, and copies its bytes without insignificant whitespace to the sink if there is one. */
  value(sink?: ByteSink): void {
    if (this.next() < 0) throw this.error('EOF while parsing a value')
    this.#sink = sink
    this.#from = this.at
    this.#anyValue()
    sink?.bytes(this.bytes, this.#from, this.at)
    this.#sink = undefined
  }

  /** Checks that a range is one value which `value` would copy unchanged: there is no insignificant whitespace in it. */
  compactValue(start: number, end: number): void {
    assert(start <= end && end <= this.bytes.length, 'a value is within the bytes')
    this.at = start
    this.#start = start
    this.#end = end
    this.#isCompact = true
    if (this.next() < 0) throw this.error('EOF while parsing a value')
    this.#anyValue()
    this.#isCompact = false
    if (this.at !== end) throw this.error('trailing characters')
  }

  /** Skips a string, which has to come next. Returns whether it is plain: ASCII without escapes. */
  string(): boolean {
    if (this.next() !== quote) throw this.#wrongType(this.next(), 'a string')
    const { bytes } = this
    const end = this.#end
    let isPlain = true
    let at = this.#afterPlain(this.at + 1)
    for (; at < end; at = this.#afterPlain(at)) {
      const byte = bytes[at] as number
      if (byte === quote) {
        this.at = at + 1
        return isPlain
      }
      isPlain = false
      if (byte < 0x80) at = this.#escape(at)
      else
        do at++
        while (at < end && (bytes[at] as number) >= 0x80)
    }
    throw this.error('EOF while parsing a string', end)
  }

  /** The position of the next byte that is not plain: a quote, a backslash, a control character or non-ASCII. */
  #afterPlain(start: number): number {
    const { view, bytes } = this
    const end = this.#end
    let at = start
    for (; at + 4 <= end; at += 4) {
      const found = notPlain(view.getInt32(at, true))
      if (found !== 0) return at + lowestByte(found)
    }
    while (at < end && (bytes[at] as number) < 0x80 && needsNoEscape(bytes[at] as number)) at++
    return at
  }

  /** An error at a position, by default the current one. Columns count bytes. */
  error(what: string, at = this.at): JsonError {
    return errorAt(what, this.bytes, this.#start, this.#end, at)
  }

  #anyValue(): void {
    let depth = 0
    while (true) {
      const byte = this.next()
      if (++this.#values > this.#maxValues) throw this.error(`more than ${limits.requestValues} values in a request`)
      if (byte === openObject || byte === openList) {
        if (depth === format.jsonNesting) throw this.error(`more than ${format.jsonNesting} levels of nesting`)
        const close = byte + 2
        this.at++
        if (this.begins(close)) {
          closing[depth++] = close
          if (byte === openObject) this.key(noNames)
          continue
        }
      } else this.#scalar(byte)
      depth = this.#afterValue(depth)
      if (depth === 0) return
    }
  }

  /** Skips what follows a value: closing brackets, then the comma (and key) of the next item. Returns the new depth. */
  #afterValue(start: number): number {
    let depth = start
    while (depth > 0) {
      const close = closing[depth - 1] as number
      if (this.continues(close)) {
        if (close === closeObject) this.key(noNames)
        return depth
      }
      depth--
    }
    return 0
  }

  #scalar(byte: number): void {
    if (byte === quote) this.string()
    else if (byte === minus || (byte >= zero && byte <= nine)) this.#number()
    else this.#literal(byte)
  }

  #literal(first: number): void {
    const word = literals.get(first)
    if (word === undefined) throw this.error('expected value')
    if (!this.#matchesAt(word, this.at)) throw this.error('expected ident')
    this.at += word.length
  }

  #matchesAt(word: Buffer, at: number): boolean {
    for (let i = 0; i < word.length; i++) if (this.bytes[at + i] !== word[i]) return false
    return true
  }

  #wrongType(byte: number, expected: string): JsonError {
    return this.error(byte < 0 ? 'EOF while parsing a value' : `invalid type: ${typeName(byte)}, expected ${expected}`)
  }

  #number(): void {
    const start = this.at
    let at = start
    if (this.#byteAt(at) === minus) at++
    if (this.#byteAt(at) === zero) at++
    else at = this.#digits(at)
    if (this.#byteAt(at) === dot) at = this.#digits(at + 1)
    const exponent = this.#byteAt(at)
    const hasExponent = exponent === lowerE || exponent === upperE
    if (hasExponent) {
      const sign = this.#byteAt(at + 1)
      at = this.#digits(sign === plus || sign === minus ? at + 2 : at + 1)
    }
    this.at = at
    if (!hasExponent && at - start < safeLength) return
    const value = Number(this.bytes.toString('latin1', start, at))
    if (!Number.isFinite(value)) throw this.error('number out of range', start)
  }

  /** The byte at a position, or -1 at the end of the range: what follows it belongs to another value. */
  #byteAt(at: number): number {
    return at < this.#end ? (this.bytes[at] as number) : -1
  }

  /** Skips one or more digits. */
  #digits(start: number): number {
    const { bytes } = this
    const end = this.#end
    let at = start
    while (at < end && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++
    if (at === start) throw this.error('invalid number', start)
    return at
  }

  /** Skips an escape sequence. */
  #escape(at: number): number {
    const { bytes } = this
    if (bytes[at] !== backslash)
      throw this.error('control character (\\u0000-\\u001F) found while parsing a string', at)
    if (escapes[bytes[at + 1] ?? 0] === 0) throw this.error('invalid escape', at + 1)
    if (bytes[at + 1] !== lowerU) return at + 2
    for (let i = at + 2; i < at + 6; i++) if (hexDigits[bytes[i] ?? 0] === 0) throw this.error('invalid escape', i)
    return at + 6
  }

  #skipSpace(): number {
    const { bytes } = this
    const start = this.at
    let at = start
    if (this.#isCompact && isSpace(this.#byteAt(at))) throw this.error('whitespace between tokens')
    while (at < this.#end && isSpace(bytes[at] as number)) at++
    if (at === start) return this.#byteAt(at)
    if (this.#sink !== undefined) {
      this.#sink.bytes(bytes, this.#from, start)
      this.#from = at
    }
    this.at = at
    return this.#byteAt(at)
  }
}

/** Parses the JSON of a request. The number of values is limited, since a short text can become a large object. */
export function parseJson(bytes: Buffer): unknown {
  const scanner = new JsonScanner(bytes, limits.requestValues)
  scanner.value()
  scanner.finish()
  return JSON.parse(bytes.toString('utf8'))
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
