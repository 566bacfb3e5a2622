import { isUtf8 } from 'node:buffer'
import { limits } from '../base/limits.ts'
import { lowestByte, notPlain, standsForItself, wordsOf } from './plain-text.ts'

/** Text that is not the JSON it should be; the message says what and where. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

/** Takes the bytes of a value without the space between its parts. */
export interface ByteSink {
  bytes(bytes: Uint8Array, start: number, end: number): unknown
}

const quote = 0x22
const backslash = 0x5c
const [comma, colon, minus, plus, dot] = [0x2c, 0x3a, 0x2d, 0x2b, 0x2e]

/** The brackets of lists and objects. */
export const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

const [zero, nine, lowerE, upperE, lowerU] = [0x30, 0x39, 0x65, 0x45, 0x75]
const literals = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]))

const noNames: readonly Buffer[] = []

/** What may follow a backslash; `u` has digits after it. */
const escapes = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrtu'.includes(String.fromCharCode(byte)) ? 1 : 0,
)
const hexDigits = Uint8Array.from({ length: 256 }, (_, byte) => (/[0-9a-fA-F]/.test(String.fromCharCode(byte)) ? 1 : 0))

/** What closes the lists and objects that are open: for all scanners, since none of them stops within a value. */
const closing = new Uint8Array(limits.jsonNesting)

/** Digits that a number can have and be sure to be in the range of a double. */
const harmlessDigits = 300

/**
 * Walks over JSON text once and checks it, strictly by RFC 8259: nothing is parsed that nobody asked for. Numbers
 * beyond the range of a double, and nesting beyond the limit, are errors too.
 */
export class JsonScanner {
  readonly bytes: Buffer
  readonly words: DataView
  /** Where it stands. */
  at = 0
  readonly #end: number
  readonly #maxValues: number
  #values = 0
  /** Where the bytes of the value are copied to, and where the part begins that is still to be copied. */
  #sink: ByteSink | undefined
  #from = 0

  constructor(bytes: Buffer, maxValues = Number.POSITIVE_INFINITY) {
    // What comes from the network as one piece is a buffer of another kind than what was put together: code that has to
    // expect both is slower, and that which was compiled for one of them is thrown away when the other one comes.
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#end = bytes.length
    this.words = wordsOf(bytes)
    this.#maxValues = maxValues
    if (!isUtf8(bytes)) throw this.error('invalid unicode code point', firstInvalid(bytes))
  }

  /** The next byte that is no space, or -1 at the end. */
  next(): number {
    const byte = this.at < this.#end ? (this.bytes[this.at] as number) : -1
    return byte > 0x20 ? byte : this.#skipSpace()
  }

  /** Passes over the start of a list or an object. */
  open(bracket: number, expected: string): void {
    const byte = this.next()
    if (byte !== bracket) throw this.#wrongType(byte, expected)
    this.at++
  }

  /** Whether there is a first item after the start of a list or an object; passes over its end when there is none. */
  begins(close: number): boolean {
    if (this.next() !== close) return true
    this.at++
    return false
  }

  /** Whether there is another item after one; passes over the comma, or over the end. */
  continues(close: number): boolean {
    const byte = this.next()
    if (byte !== comma && byte !== close) throw this.error(`expected \`,\` or \`${String.fromCharCode(close)}\``)
    this.at++
    return byte === comma
  }

  /** Passes over the name of a member and its colon; answers which of the names it is, or -1. */
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
      if (name.length === end - start && this.#stands(name, start)) return i
    }
    return -1
  }

  /** Passes over a name and its colon, if just these stand there, as they nearly always do; answers whether they do. */
  #skipKey(name: Buffer, start: number): boolean {
    const { bytes } = this
    const end = start + name.length
    if (end + 2 > this.#end || bytes[end] !== quote || bytes[end + 1] !== colon) return false
    if (!this.#stands(name, start)) return false
    this.at = end + 2
    return true
  }

  /** The text of a string whose quotes are around these bytes. */
  text(start: number, end: number): string {
    return JSON.parse(this.bytes.toString('utf8', start - 1, end + 1)) as string
  }

  /** Nothing but space may follow. */
  finish(): void {
    if (this.next() >= 0) throw this.error('trailing characters')
  }

  /** Passes over a value. With a sink its bytes go there, without the space between its parts. */
  value(sink?: ByteSink): void {
    if (this.next() < 0) throw this.error('EOF while parsing a value')
    this.#sink = sink
    this.#from = this.at
    this.#nested()
    sink?.bytes(this.bytes, this.#from, this.at)
    this.#sink = undefined
  }

  /** Passes over a string that has to come next; answers whether it is plain: ASCII without escapes. */
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
      if (byte >= 0x80) at++
      else at = this.#escape(at)
    }
    throw this.error('EOF while parsing a string', end)
  }

  /** Where the next byte is that is no plain part of a string: a quote, a backslash, a control character, or no ASCII. */
  #afterPlain(start: number): number {
    const { words, bytes } = this
    const end = this.#end
    let at = start
    for (; at + 4 <= end; at += 4) {
      const found = notPlain(words.getInt32(at, true))
      if (found !== 0) return at + lowestByte(found)
    }
    while (at < end && (bytes[at] as number) < 0x80 && standsForItself(bytes[at] as number)) at++
    return at
  }

  /** An error about a place in the text, by default where it stands. Columns count bytes. */
  error(what: string, at = this.at): JsonError {
    const before = this.bytes.subarray(0, at)
    const lineStart = before.lastIndexOf(0x0a) + 1
    let line = 1
    for (let i = before.indexOf(0x0a); i >= 0; i = before.indexOf(0x0a, i + 1)) line++
    const column = Math.min(at + 1, this.#end) - lineStart
    return new JsonError(`${at >= this.#end ? endOf(what) : what} at line ${line} column ${column}`)
  }

  #nested(): void {
    let depth = 0
    while (true) {
      const byte = this.next()
      if (++this.#values > this.#maxValues) throw this.error(`more than ${limits.requestValues} values in a request`)
      if (byte === openObject || byte === openList) {
        if (depth === limits.jsonNesting) throw this.error(`more than ${limits.jsonNesting} levels of nesting`)
        const close = byte + 2
        this.at++
        if (this.begins(close)) {
          closing[depth++] = close
          if (byte === openObject) this.key(noNames)
          continue
        }
      } else this.#plain(byte)
      depth = this.#after(depth)
      if (depth === 0) return
    }
  }

  /** What comes after a value: the end of lists and objects, or another item; answers how deep that is. */
  #after(start: number): number {
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

  #plain(byte: number): void {
    if (byte === quote) this.string()
    else if (byte === minus || (byte >= zero && byte <= nine)) this.#number()
    else this.#literal(byte)
  }

  #literal(first: number): void {
    const word = literals.get(first)
    if (word === undefined) throw this.error('expected value')
    if (!this.#stands(word, this.at)) throw this.error('expected ident')
    this.at += word.length
  }

  #stands(word: Buffer, at: number): boolean {
    for (let i = 0; i < word.length; i++) if (this.bytes[at + i] !== word[i]) return false
    return true
  }

  #wrongType(byte: number, expected: string): JsonError {
    return this.error(byte < 0 ? 'EOF while parsing a value' : `invalid type: ${typeName(byte)}, expected ${expected}`)
  }

  #number(): void {
    const { bytes } = this
    const start = this.at
    let at = start
    if (bytes[at] === minus) at++
    if (bytes[at] === zero) at++
    else at = this.#digits(at)
    if (bytes[at] === dot) at = this.#digits(at + 1)
    const exponent = bytes[at]
    const hasExponent = exponent === lowerE || exponent === upperE
    if (hasExponent) {
      const sign = bytes[at + 1]
      at = this.#digits(sign === plus || sign === minus ? at + 2 : at + 1)
    }
    this.at = at
    if (!hasExponent && at - start < harmlessDigits) return
    if (!Number.isFinite(Number(bytes.toString('latin1', start, at)))) throw this.error('number out of range', start)
  }

  /** Passes over one digit or more. */
  #digits(start: number): number {
    const { bytes } = this
    const end = this.#end
    let at = start
    while (at < end && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++
    if (at === start) throw this.error('invalid number', start)
    return at
  }

  /** Passes over a backslash and what belongs to it. */
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
    while (at < this.#end && isSpace(bytes[at] as number)) at++
    if (at === start) return at < this.#end ? (bytes[at] as number) : -1
    if (this.#sink !== undefined) {
      this.#sink.bytes(bytes, this.#from, start)
      this.#from = at
    }
    this.at = at
    return at < this.#end ? (bytes[at] as number) : -1
  }
}

/** The value of the JSON text of a request. What is small as text can be large as a value: hence the limit on their number. */
export function parseJson(bytes: Buffer): unknown {
  const scanner = new JsonScanner(bytes, limits.requestValues)
  scanner.value()
  scanner.finish()
  return JSON.parse(bytes.toString('utf8'))
}

function typeName(byte: number): string {
  const names = { '"': 'string', '[': 'sequence', '{': 'map', t: 'boolean', f: 'boolean', n: 'null' }
  const character = String.fromCharCode(byte)
  if (/[-0-9]/.test(character)) return 'number'
  return names[character as keyof typeof names] ?? `\`${character}\``
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Where the text ends too early, that is what is wrong with it. */
function endOf(what: string): string {
  return what.startsWith('EOF') ? what : `EOF while parsing: ${what}`
}

/** The first byte that is not what a decoder would have made of it. */
function firstInvalid(bytes: Buffer): number {
  const decoded = Buffer.from(bytes.toString('utf8'))
  let at = 0
  while (bytes[at] === decoded[at]) at++
  return at
}
