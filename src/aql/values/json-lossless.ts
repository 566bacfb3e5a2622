import { stringEnd } from '../text/json-string.ts'
import { decimal, greatestNatural, integer } from './numbers.ts'
import type { Value } from './value.ts'

/** White space, then the start of a string, a number, a word or a single character. */
const token = /[ \t\n\r]*(?:(")|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|(true|false|null)|(.))/sy

/**
 * Reads JSON and keeps what kind each number has. It is for texts that are known to be JSON, and takes any depth: what
 * is open is kept in a list, not on the stack.
 */
export function readLosslessly(text: string): Value {
  const open: Container[] = []
  token.lastIndex = 0
  while (true) {
    const [, quote, number, word, mark] = token.exec(text) ?? fail('ends in the middle')
    const string = quote && restOfString(text)
    if (mark === ',' || mark === ':') continue
    if (mark === '[' || mark === '{') {
      open.push(mark === '[' ? new Items() : new Entries())
      continue
    }
    const closed = mark === undefined ? undefined : (open.pop() ?? fail('closes what it did not open'))
    const value = closed === undefined ? readScalar(string, number, word) : closed.value()
    const around = open.at(-1)
    if (around === undefined) return value
    around.add(value)
  }
}

/** The string whose quotation mark was read last. */
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

  /** Keys and values come in turn. */
  add(value: Value): void {
    if (this.#key === undefined) {
      this.#key = String(value)
      return
    }
    this.#entries.set(this.#key, value)
    this.#key = undefined
  }

  value(): Value {
    // Made from entries, since a property named __proto__ must stay a property.
    return Object.fromEntries(this.#entries)
  }
}

const leastInteger = -(2n ** 63n)

function readNumber(text: string): Value {
  if (/[.eE]/.test(text) || text === '-0') return decimal(Number(text))
  const exact = BigInt(text)
  return exact > greatestNatural || exact < leastInteger ? decimal(Number(text)) : integer(exact)
}
