import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonError, JsonScanner } from '../src/json-scanner.ts'
import { skim, unusual } from '../src/json-skimmer.ts'
import { limits } from '../src/limits.ts'
import { wordsOf } from '../src/plain-text.ts'
import { anyMutation, mutated } from './support/mutations.ts'

const before = '{"data":[{"payload":'
const usualEnd = '}]}'

function skimmed(text: string, after = usualEnd): number {
  const end = skim(wordsOf(Buffer.from(before + text + after)), before.length)
  return end === unusual ? unusual : end - before.length
}

/** Where the scanner says that a value ends; nothing when it is none. */
function scanned(text: string, after: string): number | undefined {
  const scanner = new JsonScanner(Buffer.from(before + text + after))
  scanner.at = before.length
  try {
    scanner.value()
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
  return scanner.at - before.length
}

/** What is skimmed is what the scanner passes over; whatever is not can be anything. */
function agrees(text: string, after: string): void {
  const end = skimmed(text, after)
  if (end !== unusual) assert.equal(end, scanned(text, after), JSON.stringify(text + after))
}

const plainText = fc.string({ unit: fc.constantFrom(...'abc 019:,{}[]ü€😀') })
const decimal = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ min: -1e9, max: 1e9, noNaN: true }))
const number = decimal.filter((value) => !JSON.stringify(value).includes('e'))
const { value: usualValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(true, false, null),
    number,
    plainText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(plainText, tie('value'), { maxKeys: 4 }),
  ),
}))

test('values as programs write them are passed over, however near they are to the end of the text', () => {
  fc.assert(
    fc.property(usualValue, fc.constantFrom('}]}', '}] }', ',"tags":[]}]}'), (value, after) => {
      const text = JSON.stringify(value)
      assert.equal(skimmed(text, after), Buffer.byteLength(text), text)
    }),
    { numRuns: 5000 },
  )
})

test('what is not as it should be is left to the scanner', () => {
  const mutation = anyMutation(
    fc.oneof(
      fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '-',
        '.',
        'e',
        '+',
        'u',
        ' ',
        'true',
        'fals',
        '\n',
      ),
      fc.string({ maxLength: 2, unit: 'binary' }),
    ),
  )
  const value = fc.oneof(usualValue, fc.jsonValue({ maxDepth: 4 }))
  const after = fc.constantFrom('', '}', ']', '}]', '}]}', ' }', ',', ', "tags":[]}', '1}', 'e5}]}')
  fc.assert(
    fc.property(value, fc.array(mutation, { maxLength: 3 }), after, (value, mutations, after) => {
      const text = mutated(JSON.stringify(value), mutations).toWellFormed()
      agrees(text, after)
    }),
    { numRuns: 20_000 },
  )
})

test('every short text over the characters of JSON is left to the scanner, or means the same to it', () => {
  const characters = [...'{}[]",:01-.e\\ ta']
  const texts = (length: number): string[] =>
    length === 0 ? [''] : texts(length - 1).flatMap((text) => characters.map((character) => text + character))
  for (const text of [0, 1, 2, 3, 4].flatMap(texts)) for (const after of ['', '}', '}]}']) agrees(text, after)
})

test('literals and numbers are passed over as a whole only', () => {
  for (const text of ['true', 'false', 'null', '0', '-0', '-0.5', '10', '1234.56789', '12345678', '0.000000001'])
    for (const value of [text, `[${text}]`, `{"a":${text}}`, `[${text},${text}]`])
      assert.equal(skimmed(value), value.length)
  for (const text of [
    'tru',
    'fals',
    'falsy',
    'nul',
    'truex',
    '01',
    '-',
    '1.',
    '.5',
    '1.x',
    '-a',
    '1e5',
    '1E5',
    '+1',
    '0x1',
  ])
    for (const value of [text, `[${text}]`, `{"a":${text}}`]) assert.equal(skimmed(value), unusual, value)
})

test('space, escapes and control characters, nesting and numbers beyond their limits are unusual', () => {
  for (const text of [' 1', '[ 1]', '[1 ]', '{"a" :1}', '{"a": 1}', '"\\n"', '{"\\u0061":1}', '"\u0001"', '"a'])
    assert.equal(skimmed(text), unusual, text)
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  for (const inner of ['[]', '[1]']) {
    const text = nested(limits.jsonNesting).replace('[]', inner)
    assert.equal(skimmed(text), text.length)
    assert.equal(skimmed(`[${text}]`), unusual)
  }
  assert.equal(skimmed('9'.repeat(400)), unusual)
})
