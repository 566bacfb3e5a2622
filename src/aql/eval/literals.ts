import { aqlLimits } from '../language-limits.ts'
import { spend } from '../values/allowance.ts'
import { compareTexts } from '../values/comparison.ts'
import { Failure } from '../values/failure.ts'
import { isNatural, isNumber, toDouble } from '../values/numbers.ts'
import { textOf } from '../values/text.ts'
import { Composed, isArray, type Key, kindOf, type Value } from '../values/value.ts'
import { type Code, strict } from './code.ts'

export interface ArrayPart {
  readonly spread: boolean
  readonly code: Code
}

export function array(parts: readonly ArrayPart[]): Code {
  // The list of values is fresh, so it can be the array.
  if (!parts.some(({ spread }) => spread))
    return strict(
      parts.map(({ code }) => code),
      (values) => values,
    )
  // A spread failure takes precedence over failures of later items.
  const codes = parts.map(({ spread, code }) =>
    spread ? strict([code], ([value]) => spreadable(value as Value)) : code,
  )
  return strict(codes, (values) => {
    const items: Value[] = []
    for (const [at, value] of values.entries()) {
      const added = parts[at]?.spread && isArray(value) ? value : [value]
      if (items.length + added.length > aqlLimits.arrayLength) throw longArray()
      for (const item of added) items.push(item)
    }
    // Copying an item costs more than its bytes.
    spend(32 * items.length)
    return items
  })
}

function longArray(): Failure {
  return new Failure(`the array has too many items (limit arrayLength: ${aqlLimits.arrayLength})`)
}

export function spreadable(value: Value): readonly Value[] {
  if (isArray(value)) return value
  throw new Failure(`cannot spread a value of type ${kindOf(value)}`)
}

/** Alternating literal texts and compiled expressions. */
export function template(parts: readonly (string | Code)[]): Code {
  const codes = parts.filter((part) => typeof part !== 'string')
  return strict(codes, (values) => {
    let text = ''
    let next = 0
    for (const part of parts) {
      text += typeof part === 'string' ? part : textOf(values[next++] as Value)
      if (text.length > aqlLimits.templateLength) throw longText()
    }
    spend(text.length)
    return text
  })
}

function longText(): Failure {
  return new Failure(`the text is too long (limit templateLength: ${aqlLimits.templateLength})`)
}

export interface EntryPart {
  /** A string if the key is a literal. */
  readonly key: string | Code
  readonly value: Code
}

export function object(entries: readonly EntryPart[]): Code {
  const names: string[] = []
  for (const { key } of entries) if (typeof key === 'string') names.push(key)
  return names.length === entries.length && names.every(keepsInsertionOrder)
    ? plainObject(names, entries)
    : composed(entries)
}

/** Whether JS keeps a property of this name in insertion order: it sorts integer keys, and `__proto__` is special. */
function keepsInsertionOrder(name: string): boolean {
  return name !== '__proto__' && !/^\d+$/.test(name)
}

/** An object with constant keys: it is created with its keys in output order. */
function plainObject(names: readonly string[], entries: readonly EntryPart[]): Code {
  // Of duplicate keys the last one wins.
  const lastPlaces = new Map<string, number>()
  for (const [at, name] of names.entries()) lastPlaces.set(name, at)
  const order = inOrder([...lastPlaces.keys()])
  const places = order.map((name) => lastPlaces.get(name) as number)
  return strict(
    entries.map(({ value }) => value),
    (values) => {
      const made: Record<string, Value> = {}
      for (let at = 0; at < order.length; at++) made[order[at] as string] = values[places[at] as number] as Value
      return made
    },
  )
}

/** Sorts keys by UTF-8 length, then bytewise. Lengths are computed once: there may be a hundred thousand keys. */
function inOrder(names: readonly string[]): string[] {
  const measured = names.map((name) => ({ name, length: utf8Length(name) }))
  measured.sort((a, b) => a.length - b.length || compareTexts(a.name, b.name))
  return measured.map(({ name }) => name)
}

function composed(entries: readonly EntryPart[]): Code {
  const parts = entries.flatMap(({ key, value }) => (typeof key === 'string' ? [value] : [key, value]))
  return strict(parts, (values) => {
    let next = 0
    const made = entries.map(({ key }): [Key, Value] => {
      const name = typeof key === 'string' ? key : keyOf(values[next++] as Value)
      return [name, values[next++] as Value]
    })
    made.sort(([a], [b]) => compareKeys(a, b))
    return new Composed(
      made.filter(([key], at) => at + 1 === made.length || compareKeys(key, made[at + 1]?.[0] as Key) !== 0),
    )
  })
}

function keyOf(value: Value): Key {
  // Sorting measures and compares it.
  if (typeof value === 'string') spend(16 * value.length)
  if (typeof value === 'string' || typeof value === 'boolean' || isNumber(value)) return value
  throw new Failure(`a value of type ${kindOf(value)} cannot be the key of an object`)
}

/** Naturals, then strings by UTF-8 length and then bytewise, then booleans, then decimals. */
function compareKeys(a: Key, b: Key): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)]
  if (rankA !== rankB) return rankA - rankB
  if (typeof a === 'string' && typeof b === 'string') return utf8Length(a) - utf8Length(b) || compareTexts(a, b)
  if (isNumber(a) && isNumber(b)) {
    if (isNatural(a) && isNatural(b)) return a < b ? -1 : Number(a > b)
    return toDouble(a) - toDouble(b)
  }
  return Number(a) - Number(b)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all that is one byte in UTF-8.
const ascii = /^[\x00-\x7f]*$/

function rankOf(key: Key): number {
  if (typeof key === 'string') return 1
  if (typeof key === 'boolean') return 2
  return isNatural(key) ? 0 : 3
}

function utf8Length(text: string): number {
  if (ascii.test(text)) return text.length
  let length = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return length
}
