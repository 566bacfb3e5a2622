import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FieldReader, missing } from '../../src/aql/values/json-field.ts'
import { readJson } from '../../src/aql/values/json-read.ts'
import { kindOf, propertyOf } from '../../src/aql/values/value.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import * as fc from '../support/property.ts'

const names = [
  'a',
  'b',
  'value',
  'é',
  '',
  'a"b',
  'a\\b',
  ',"a":',
  'x{',
  '__proto__',
  'constructor',
  ':',
  ',',
  '],',
  ':1,',
  ' :',
  '}',
]

/** A JSON spelling of a string: verbatim, or with some characters escaped. */
const spelled = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.integer({ min: 0, max: 9 })).map(([text, escaped]) => {
    const json = JSON.stringify(text)
    if (escaped > 0 || text === '') return json
    return `"\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(text.slice(1)).slice(1)}`
  })

const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '-0.0',
    '2.0',
    '1e3',
    '1E-3',
    '0.5',
    '-0.5',
    '1.05',
    '0.99999999',
    '9007199254740993',
  ),
  fc.constantFrom(
    '123456789012345',
    '1234567890123456',
    '12345678901.5',
    '0.12345678901234567',
    '1.999999999999999999',
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.tuple(fc.integer(), fc.stringMatching(/^\d{1,18}$/)).map(([whole, digits]) => `${whole}.${digits}`),
)

const text = fc.oneof(
  fc.constantFrom(...names, ':5,hi', ':7,', ',x', ':"a"'),
  fc.string(),
  fc.string({ unit: 'grapheme' }),
)
const { json } = fc.letrec<{ json: string; object: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    number,
    spelled(text),
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(spelled(fc.constantFrom(...names)), tie('json')), { maxLength: 5 })
    .map((entries) => `{${entries.map(([key, value]) => `${key}:${value}`).join(',')}}`),
}))

/** Flat objects, for which the fast path applies. */
const flat = fc
  .array(fc.tuple(spelled(fc.constantFrom(...names)), fc.oneof(number, spelled(text), fc.constant('true'))), {
    maxLength: 5,
  })
  .map((entries) => `{${entries.map(([key, value]) => `${key}:${value}`).join(',')}}`)

/** With whitespace around some of the punctuation. */
const spaced = fc
  .tuple(flat, fc.array(fc.constantFrom('', '', ' '), { minLength: 1, maxLength: 7 }))
  .map(([text, spaces]) => {
    let at = 0
    const space = (): string => spaces[at++ % spaces.length] as string
    return text.replaceAll(/[:,{}]/g, (mark) => `${space()}${mark}${space()}`).trim()
  })

test('an extracted field equals the field of the parsed payload, and a missing one is missing there', () => {
  const readers = names.map((name) => [name, new FieldReader(name)] as const)
  fc.assert(
    fc.property(fc.oneof(flat, json, spaced), (text) => {
      for (const [name, reader] of readers) {
        const found = reader.read(text)
        if (found === undefined) continue
        const payload = readJson(text)
        if (found === missing) assert.equal(kindOf(payload), 'Object', text)
        const expected = found === missing ? undefined : found
        assert.deepEqual(propertyOf(payload, name), expected, `${name} of ${text}`)
      }
    }),
    { numRuns: 20_000 },
  )
})

test('fields of common payloads are extracted without parsing', () => {
  const text = '{"type":"measurement","value":84.14709848078965,"ok":true,"n":12,"minus":-3,"list":[1,2]}'
  const extracted = ['type', 'value', 'ok', 'n', 'minus', 'list', 'none'].map((name) =>
    new FieldReader(name).read(text),
  )
  assert.deepEqual(extracted, ['measurement', 84.14709848078965, true, 12, -3, undefined, missing])
})

test('a field is known to be missing only in an object without escapes, in which its name does not occur', () => {
  const reader = new FieldReader('id')
  for (const text of ['{}', '{"x":{"ids":1}}', '{"x":["i","d"]}']) assert.equal(reader.read(text), missing, text)
  for (const text of [
    '[]',
    '"x"',
    'null',
    '1',
    '["a"]',
    '{"\\u0069d":1}',
    '{"x":{"id":1}}',
    '{"x":"id"}',
    '{"x":["id"]}',
  ])
    assert.equal(reader.read(text), undefined, text)
  assert.equal(new FieldReader('a"b').read('{}'), undefined)
})

test('an extracted string does not keep the whole payload in memory', () => {
  const reader = new FieldReader('id')
  const kept: unknown[] = []
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 100; i++)
    kept.push(reader.read(`{"id":"an id of more than 13 characters ${i}","x":"${'x'.repeat(500_000)}"}`))
  collectGarbage()
  const grown = process.memoryUsage().heapUsed - before
  assert.equal(kept[99], 'an id of more than 13 characters 99')
  assert.ok(grown < 10_000_000, `${grown} bytes`)
})
