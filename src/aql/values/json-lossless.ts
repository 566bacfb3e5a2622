import { stringEnd } from '../text/json-string.ts'
import { decimal, integer, maxNatural } from './numbers.ts'
import type { Value } from './value.ts'

/** A JSON token: whitespace, then the start of a string, a number, a keyword or a single character. */
const token = /[ \t\n\r]*(?:(")|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|(true|false|null)|(.))/sy

/**
 * Lossless JSON parser: keeps the kind of each number (integer or decimal) and the precision of 64-bit integers. The
 * text must be valid JSON. The depth is unlimited, because open containers are on an explicit stack.
 */
export function parseLossless(text: string): Value {
  const open: Container[] = []
  token.lastIndex = 0
  while (true) {
    const [, quote, number, word, mark] = token.exec(text) ?? fail('is truncated')
    const string = quote && restOfString(text)
    if (mark === ',' || mark === ':') continue
    if (mark === '[' || mark === '{') {
      open.push(mark === '[' ? new Items() : new Entries())
      continue
    }
    const closed = mark === undefined ? undefined : (open.pop() ?? fail('has an unmatched closing bracket'))
    const value = closed === undefined ? readScalar(string, number, word) : closed.value()
    const parent = open.at(-1)
    if (parent === undefined) return value
    parent.add(value)
  }
}

/** The string whose opening quotation mark was the last token. */
function restOfString(text: string): string {
  const start = token.lastIndex - 1
  token.lastIndex = stringEnd(text, start)
  return text.slice(start, token.lastIndex)
}

function readScalar(string: string | undefined, number: string | undefined, word: string | undefined): Value {
  if (string !== undefined) return JSON.parse(string) as string
  if (number !== undefined) return readNumber(number)
  return word === 'null' ? null : word === 'true'
}

function fail(what: string): never {
  throw new SyntaxError(`the payload ${what}`)
}

interface Container {
  add(value: Value): void
  value(): Value
}

class Items implements Container {
  readonly #items: Value[] = []

  add(value: Value): void {
    this.#items.push(value)
  }

  value(): Value {
    return this.#items
  }
}

class Entries implements Container {
  readonly #entries = new Map<string, Value>()
  #key: string | undefined

  /** Keys and values alternate. */
  add(value: Value): void {
    if (this.#key === undefined) {
      this.#key = String(value)
      return
    }
    this.#entries.set(this.#key, value)
    this.#key = undefined
  }

  value(): Value {
    // From entries, so that `__proto__` stays an ordinary property.
    return Object.fromEntries(this.#entries)
  }
}

const minInteger = -(2n ** 63n)

function readNumber(text: string): Value {
  if (/[.eE]/.test(text) || text === '-0') return decimal(Number(text))
  const exact = BigInt(text)
  return exact > maxNatural || exact < minInteger ? decimal(Number(text)) : integer(exact)
}
