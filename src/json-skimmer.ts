import { limits } from './limits.ts'
import { lowestByte, notPlain } from './plain-text.ts'

// All of its own: what is imported is looked up again and again, for a tenth of the time.
const [quote, comma, colon, minus, dot] = [0x22, 0x2c, 0x3a, 0x2d, 0x2e]
const [zero, nine, lowerE] = [0x30, 0x39, 0x65]
const [openList, openObject, closeObject] = [0x5b, 0x7b, 0x7d]
/** What a closing bracket is more than the one that opens. */
const closes = 2
/** The first four bytes of each, as a word. */
const [wordTrue, wordFals, wordNull] = [0x65757274, 0x736c6166, 0x6c6c756e]

/** Digits of a number that is not looked at any closer. */
const usualDigits = 100

/** Instead of a place: this is nothing that can be skimmed. It lies beyond any text, so nothing is looked for behind it. */
export const unusual = 0x7fffffff

/** For all who skim, since none of them stops within a value. */
const closing = new Uint8Array(limits.jsonNesting)

/**
 * Passes quickly over the value of a member of an object, if it is as programs write them: without space, escapes or exponents.
 * Answers where it ends, or that it is unusual, as it is too when something is wrong with it, or with what comes next: that is for
 * `JsonScanner` to tell. The text is UTF-8.
 */
export function skim(words: DataView, start: number): number {
  // Up to here four bytes can be looked at.
  const last = words.byteLength - 4
  let at = start
  let depth = 0
  while (at <= last) {
    const byte = words.getUint8(at)
    const opens = byte === openObject || byte === openList
    if (opens && depth === limits.jsonNesting) return unusual
    if (opens && words.getUint8(at + 1) !== byte + closes) {
      closing[depth++] = byte + closes
      at = byte === openObject ? afterKey(words, at + 1, last) : at + 1
      continue
    }
    at = afterPlain(words, at, last)
    while (depth > 0 && at <= last && words.getUint8(at) === closing[depth - 1]) {
      depth--
      at++
    }
    if (depth === 0) return isFollowed(words, at) ? at : unusual
    at = afterComma(words, at, last, closing[depth - 1] === closeObject)
  }
  return unusual
}

/** Whether the value of a member ends there: a number could go on. */
function isFollowed(words: DataView, at: number): boolean {
  if (at >= words.byteLength) return false
  const byte = words.getUint8(at)
  return byte === comma || byte === closeObject
}

/** Passes over the comma between two items of a list or an object, and over the name of the next one. */
function afterComma(words: DataView, start: number, last: number, isObject: boolean): number {
  if (start > last || words.getUint8(start) !== comma) return unusual
  return isObject ? afterKey(words, start + 1, last) : start + 1
}

/** Passes over a value without items. */
function afterPlain(words: DataView, start: number, last: number): number {
  const byte = words.getUint8(start)
  if (byte === quote) return afterString(words, start + 1, last)
  if (byte === openObject || byte === openList) return start + 2
  if (byte === minus) return afterNumber(words, start + 1, last)
  if (byte >= zero && byte <= nine) return afterNumber(words, start, last)
  const word = words.getInt32(start, true)
  if (word === wordTrue || word === wordNull) return start + 4
  return word === wordFals && start < last && words.getUint8(start + 4) === lowerE ? start + 5 : unusual
}

/** Passes over a number without its sign. */
function afterNumber(words: DataView, start: number, last: number): number {
  const at = words.getUint8(start) === zero ? start + 1 : afterDigits(words, start, last)
  const end = at <= last && words.getUint8(at) === dot ? afterDigits(words, at + 1, last) : at
  return end - start > usualDigits ? unusual : end
}

/** Passes over one digit or more. */
function afterDigits(words: DataView, start: number, last: number): number {
  let at = start
  for (; at <= last; at += 4) {
    const found = notDigits(words.getInt32(at, true))
    if (found === 0) continue
    at += lowestByte(found)
    return at === start ? unusual : at
  }
  // Four bytes from the last digit on were the last of the text, which goes on as it should or not: nobody has looked at that yet.
  return at > start && at === last + 1 ? at : unusual
}

/** Answers 0 when all four bytes of a word are digits, else a number whose lowest bit is in the first byte that is none. */
function notDigits(word: number): number {
  return ((word ^ 0x30303030) | ((word & 0x0f0f0f0f) + 0x06060606)) & 0xf0f0f0f0
}

/** Passes over the name of a member and its colon. */
function afterKey(words: DataView, start: number, last: number): number {
  if (start > last || words.getUint8(start) !== quote) return unusual
  const at = afterString(words, start + 1, last)
  return at > last || words.getUint8(at) !== colon ? unusual : at + 1
}

/** Passes over the rest of a string. */
function afterString(words: DataView, start: number, last: number): number {
  for (let at = start; at <= last; ) {
    const found = notPlain(words.getInt32(at, true))
    if (found === 0) {
      at += 4
      continue
    }
    at += lowestByte(found)
    const byte = words.getUint8(at)
    if (byte === quote) return at + 1
    if (byte < 0x80) return unusual
    at++
  }
  return unusual
}
