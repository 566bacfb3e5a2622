import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { JsonError, JsonScanner, parseJson } from '../../src/json/json-scanner.ts'
import { anyMutation, mutated } from '../support/mutations.ts'
import * as fc from '../support/property.ts'

/** The text of the value without whitespace, or undefined when the scanner refuses it. */
function compact(text: string | Buffer): string | undefined {
  const parts: Buffer[] = []
  try {
    const scanner = new JsonScanner(Buffer.from(text))
    scanner.value({ bytes: (bytes, start, end) => parts.push(Buffer.from(bytes.subarray(start, end))) })
    scanner.finish()
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
  return Buffer.concat(parts).toString('utf8')
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** The same value as text, with whitespace wherever JSON allows it. */
function spaced(value: unknown, space: () => string): string {
  const inner = (): string => {
    if (Array.isArray(value)) return `[${space()}${value.map((item) => spaced(item, space)).join(',')}]`
    if (value !== null && typeof value === 'object')
      return `{${space()}${Object.entries(value)
        .map(([key, member]) => `${space()}${JSON.stringify(key)}${space()}:${spaced(member, space)}`)
        .join(',')}}`
    return JSON.stringify(value)
  }
  return space() + inner() + space()
}

/** Numbers beyond the range of a double are refused here, while JSON.parse returns infinity. */
function isInRange(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || typeof value !== 'object' || Object.values(value).every(isInRange)
}

test('a scanned value is unchanged except for the whitespace between tokens', () => {
  const spaces = fc.infiniteStream(fc.constantFrom('', '', ' ', '\n', '\t ', '\r\n'))
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), spaces, (value, stream) => {
      const text = spaced(value, () => stream.next().value as string)
      assert.equal(compact(text), JSON.stringify(value))
    }),
    { numRuns: 2000 },
  )
})

test('the scanner accepts exactly what JSON.parse accepts', () => {
  const mutation = anyMutation(
    fc.oneof(
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', '+', 'u', ' ', 'true', 'nul'),
      fc.string({ maxLength: 2, unit: 'binary' }),
    ),
  )
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.array(mutation, { maxLength: 3 }), (value, mutations) => {
      const text = mutated(JSON.stringify(value), mutations).toWellFormed()
      const expected = parsed(text)
      const found = compact(text)
      if (expected === undefined || !isInRange(expected.value)) assert.equal(found, undefined, text)
      else assert.deepEqual(JSON.parse(found ?? '!'), expected.value)
    }),
    { numRuns: 20_000 },
  )
})

test('every short text over the characters of JSON is accepted or refused like JSON.parse does', () => {
  const characters = [...'{}[]",:01-.e\\u t']
  const texts = (length: number): string[] =>
    length === 0 ? [''] : texts(length - 1).flatMap((text) => characters.map((character) => text + character))
  for (const text of [...texts(1), ...texts(2), ...texts(3), ...texts(4)])
    assert.equal(compact(text) !== undefined, parsed(text) !== undefined, JSON.stringify(text))
})

test('numbers keep their text, and are refused beyond the range of a double', () => {
  for (const text of ['1.0', '1e3', '-0', '9007199254740993', '1E-400', `0.${'1'.repeat(400)}`, '1e308'])
    assert.equal(compact(text), text)
  for (const text of ['1e309', '-1e400', '9'.repeat(400), '[1,{"a":1e999}]']) assert.equal(compact(text), undefined)
})

test('nesting is limited', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.ok(compact(nested(format.jsonNesting)))
  assert.throws(() => parseJson(Buffer.from(nested(format.jsonNesting + 1))), {
    message: 'more than 512 levels of nesting at line 1 column 513',
  })
})

test('the number of parsed values in a request is limited; payloads are not', () => {
  const list = (count: number) => `[${'{},'.repeat(count - 2)}{}]`
  const object = (count: number) => `{${'"a":0,'.repeat(count - 2)}"a":[]}`
  for (const text of [list, object]) {
    assert.ok(parseJson(Buffer.from(text(limits.requestValues))))
    assert.throws(() => parseJson(Buffer.from(text(limits.requestValues + 1))), {
      message: /^more than 100000 values in a request at line 1 column \d+$/,
    })
    assert.ok(compact(text(limits.requestValues + 1)))
  }
})

test('invalid UTF-8 and a byte order mark are refused', () => {
  const bad = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]]
  for (const bytes of bad) {
    const text = Buffer.concat([Buffer.from('["ü'), Buffer.from(bytes), Buffer.from('"]')])
    assert.throws(() => parseJson(text), { message: 'invalid unicode code point at line 1 column 5' })
  }
  assert.throws(() => parseJson(Buffer.from('\ufeff1')), { message: 'expected value at line 1 column 1' })
})

test('errors have a reason, line and column', () => {
  const cases = [
    ['', 'EOF while parsing a value at line 1 column 0'],
    ['  \n ', 'EOF while parsing a value at line 2 column 1'],
    ['x', 'expected value at line 1 column 1'],
    ['{"a":1} x', 'trailing characters at line 1 column 9'],
    ['{"a":\n\n  tru}', 'expected ident at line 3 column 3'],
    ['[1,]', 'expected value at line 1 column 4'],
    ['[1 2]', 'expected `,` or `]` at line 1 column 4'],
    ['{"a" 1}', 'expected `:` at line 1 column 6'],
    ['{a:1}', 'key must be a string at line 1 column 2'],
    ['"a\nb"', 'control character (\\u0000-\\u001F) found while parsing a string at line 1 column 3'],
    ['"\\x"', 'invalid escape at line 1 column 3'],
    ['"\\u12', 'EOF while parsing: invalid escape at line 1 column 5'],
    ['[1', 'EOF while parsing: expected `,` or `]` at line 1 column 2'],
    ['"abc', 'EOF while parsing a string at line 1 column 4'],
    ['-', 'EOF while parsing: invalid number at line 1 column 1'],
  ] as const
  for (const [text, message] of cases) assert.throws(() => parseJson(Buffer.from(text)), { message })
})

test('a compact value fills its range exactly; errors count columns from the start of the range', () => {
  const check = (before: string, text: string, after: string): void => {
    const bytes = Buffer.from(before + text + after)
    const start = Buffer.byteLength(before)
    new JsonScanner(bytes).compactValue(start, start + Buffer.byteLength(text))
  }
  for (const [text, after] of [
    ['1', '.5'],
    ['-1', 'e5'],
    ['0', '0'],
    ['1e5', '5'],
    ['"a"', '"'],
    ['{"a":[]}', ']'],
  ] as const)
    check('[1,\n', text, after)
  const cases = [
    ['', '1', 'EOF while parsing a value at line 1 column 0'],
    [' 1', '', 'whitespace between tokens at line 1 column 1'],
    ['[1,\n2]', '', 'whitespace between tokens at line 1 column 4'],
    ['1 ', '', 'trailing characters at line 1 column 2'],
    ['-', '1', 'EOF while parsing: invalid number at line 1 column 1'],
    ['1.', '5', 'EOF while parsing: invalid number at line 1 column 2'],
    ['tru', 'e', 'EOF while parsing: trailing characters at line 1 column 3'],
    ['[tru', 'e]', 'EOF while parsing: expected `,` or `]` at line 1 column 4'],
    ['"\\', 'n"', 'EOF while parsing a string at line 1 column 2'],
    ['"a', '"', 'EOF while parsing a string at line 1 column 2'],
    ['[1 x', ']', 'whitespace between tokens at line 1 column 3'],
    ['[x', ']', 'expected value at line 1 column 2'],
  ] as const
  for (const [text, after, message] of cases)
    assert.throws(() => check('{\n', text, after), { name: 'JsonError', message })
})
