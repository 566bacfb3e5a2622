import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unescapeTo } from '../../src/json/unescape.ts'
import * as fc from '../support/property.ts'

/** The decoded text; undefined if there is a lone surrogate. */
function unescaped(json: string): string | undefined {
  const bytes = Buffer.from(json)
  const target = Buffer.alloc(bytes.length + 2, 7)
  const end = unescapeTo(target, 1, bytes, 1, bytes.length - 1)
  assert.equal(target.at(-1), 7)
  return end < 0 ? undefined : target.toString('utf8', 1, end)
}

const expected = (json: string): string | undefined => {
  const text = JSON.parse(json) as string
  return text.isWellFormed() ? text : undefined
}

test('every code unit is decoded from its escape, in both cases, or reported as a lone surrogate', () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    const hex = unit.toString(16).padStart(4, '0')
    for (const json of [`"\\u${hex}"`, `"x\\u${hex.toUpperCase()}y"`])
      assert.equal(unescaped(json), expected(json), json)
  }
})

test('a string with any escapes is decoded as JSON.parse does', () => {
  const surrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => `\\u${unit.toString(16)}`)
  const pair = fc
    .integer({ min: 0x10000, max: 0x10ffff })
    .map((codePoint) => String.fromCodePoint(codePoint))
    .map((text) => [0, 1].map((i) => `\\u${text.charCodeAt(i).toString(16)}`).join(''))
  const simple = fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u0000', 'u', 'd800')
  const text = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1))
  const part = fc.oneof(pair, simple, text, { weight: 1, arbitrary: surrogate })
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const json = `"${parts.join('')}"`
      assert.equal(unescaped(json), expected(json), json)
    }),
    { numRuns: 20_000 },
  )
})
