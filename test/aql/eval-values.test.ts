import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memberText } from '../../src/aql/text/member.ts'
import { compare, compareTexts } from '../../src/aql/values/comparison.ts'
import { deepEqual } from '../../src/aql/values/deep-equal.ts'
import type { AqlEvent } from '../../src/aql/values/event.ts'
import { parseLossless } from '../../src/aql/values/json-lossless.ts'
import { mayLosePrecision, readJson } from '../../src/aql/values/json-read.ts'
import { jsonLength, jsonText, writeJson } from '../../src/aql/values/json-write.ts'
import { type Metadata, MetadataSum, merge, Span, sameMetadata } from '../../src/aql/values/metadata.ts'
import { decimal, integer } from '../../src/aql/values/numbers.ts'
import { notation } from '../../src/aql/values/show.ts'
import { instantText, textOf } from '../../src/aql/values/text.ts'
import type { Value } from '../../src/aql/values/value.ts'
import * as fc from '../support/property.ts'
import { eventsFrom } from './eval/run.ts'

/** JSON numbers, with edge cases more often. */
const numberTexts = fc.oneof(
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), fc.stringMatching(/^[0-9]{1,20}$/))
    .map((p) => p.join('.')),
  fc.tuple(fc.nat(99_999_999_999_999), fc.stringMatching(/^[09]{1,6}$/)).map((parts) => parts.join('.')),
  fc.tuple(fc.integer(), fc.integer({ min: -20, max: 20 })).map((parts) => parts.join('e')),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('-0', '-0.0', '0', '0.0', '1.0', '999999999999.99999', '9007199254740992', '9007199254740993', '1E2'),
)

describe('parsing payloads', () => {
  test('readJson and the lossless parser agree on every number', () => {
    fc.assert(
      fc.property(fc.array(numberTexts, { maxLength: 4 }), (numbers) => {
        for (const text of [...numbers, `{"a": [${numbers.join(',')}]}`])
          assert.equal(notation(readJson(text)), notation(parseLossless(text)))
      }),
      { numRuns: 2000 },
    )
  })

  test('common texts do not need the lossless parser', () => {
    const texts = [
      '["3e4a52b8-1e2f-4c3d-9e8f-000000000000", "2021-08-01T00:00:00.120Z"]',
      '{"a":-0.5,"b":2.5,"c":[-5,0.30000000000000004]}',
      '{"micros":1700000000000000}',
    ]
    for (const text of texts) assert.equal(mayLosePrecision(text), false, text)
  })

  test('both parsers agree on everything but numbers', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        assert.deepEqual(JSON.parse(writeJson(parseLossless(text))), JSON.parse(text))
      }),
    )
  })

  test('strings, whitespace and special keys like __proto__ are parsed', () => {
    const text = ' { "__proto__" : [ "\\u00e4\\n\\"\\\\" , true ] ,\r\n\t"a": {}, "a": [ ], "1e1": null } '
    const value = parseLossless(text)
    assert.equal(writeJson(value), '{"__proto__":["ä\\n\\"\\\\",true],"a":[],"1e1":null}')
    assert.equal(writeJson(readJson(text)), writeJson(value))
  })

  test('a long text is written in parts, which together are the JSON of the value', () => {
    const piece = fc.oneof(
      fc.json().map((text) => JSON.parse(text) as Value),
      fc.integer({ min: 1, max: 200_000 }).map((length) => 'ä"'.repeat(length)),
    )
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 6 }),
        fc.dictionary(fc.string(), piece),
        (list, object) => {
          const value = [list, object, 'x'.repeat(20_000)] as Value
          const text = jsonText(value)
          const joined = typeof text === 'string' ? text : text.join('')
          assert.deepEqual(JSON.parse(joined), JSON.parse(JSON.stringify(value)))
          assert.equal(jsonLength(text), joined.length)
          assert.equal(typeof text === 'string', joined.length < 64 * 1024)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('a string with millions of escapes is parsed', () => {
    const text = `[1.0,"${'\\n'.repeat(4_000_000)}\\\\","\\"",2]`
    const value = parseLossless(text)
    assert.ok(Array.isArray(value))
    assert.equal(value[1], `${'\n'.repeat(4_000_000)}\\`)
    assert.deepEqual(value.slice(2), ['"', 2])
    assert.equal(memberText(`{"a":${text},"b": {"c":"}"} }`, 'b'), '{"c":"}"}')
    assert.equal(memberText(`{"a":${text}}`, 'a'), text)
  })

  test('a payload nested deeper than the stack is parsed', () => {
    const depth = 100_000
    let value = parseLossless(`${'['.repeat(depth)}1.0${']'.repeat(depth)}`)
    for (let level = 0; level < depth; level++) value = (value as readonly Value[])[0] as Value
    assert.equal(textOf(value), '1.0')
  })
})

describe('serialising values', () => {
  const written: readonly [Value, json: string, text: string][] = [
    [63, '63', '63'],
    [decimal(63), '63.0', '63.0'],
    [decimal(-3), '-3.0', '-3.0'],
    [decimal(-0), '-0.0', '-0.0'],
    [-3, '-3', '-3'],
    [decimal(1e20), '1e20', '1.0e20'],
    [decimal(1.5e-7), '1.5e-7', '1.5e-7'],
    [decimal(1e15), '1000000000000000.0', '1000000000000000.0'],
    [0.1 + 0.2, '0.30000000000000004', '0.30000000000000004'],
    [2n ** 64n - 1n, '18446744073709551615', '18446744073709551615'],
    [null, 'null', 'NULL'],
    [true, 'true', 'TRUE'],
    ['ä"', '"ä\\""', 'ä"'],
    [[1, [2]], '[1,[2]]', 'ARRAY'],
    [{ a: 1 }, '{"a":1}', 'OBJECT'],
  ]
  for (const [value, json, text] of written) {
    test(`${notation(value)} as JSON and in a template`, () => {
      assert.equal(writeJson(value), json)
      assert.equal(textOf(value), text)
    })
  }

  test('a timestamp has microsecond precision', () => {
    assert.equal(instantText(1_628_840_703_418_000), '2021-08-13T07:45:03.418000Z')
    assert.equal(instantText(0), '1970-01-01T00:00:00.000000Z')
  })
})

const comparables: fc.Arbitrary<Value> = fc.oneof(
  fc.nat(),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(integer),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(decimal),
  fc.integer({ max: -1 }),
  fc.string({ unit: 'binary' }),
  fc.boolean(),
  fc.constant(null),
  fc.constant([1]),
)

describe('comparing', () => {
  test('compare is antisymmetric, and undefined in both directions or in neither', () => {
    fc.assert(
      fc.property(comparables, comparables, (a, b) => {
        const [forwards, backwards] = [compare(a, b), compare(b, a)]
        assert.equal(forwards === undefined, backwards === undefined)
        assert.equal(Math.sign(forwards ?? 0) + Math.sign(backwards ?? 0), 0)
      }),
    )
  })

  test('naturals are ordered by value up to 64 bits', () => {
    const naturals = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    fc.assert(
      fc.property(naturals, naturals, (a, b) => {
        assert.equal(compare(integer(a), integer(b)), a < b ? -1 : Number(a > b))
      }),
    )
  })

  test('strings are ordered by their UTF-8 bytes', () => {
    const texts = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        assert.equal(Math.sign(compareTexts(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
    assert.ok(compareTexts('😀', '\ufffd') > 0)
  })

  test('a value is deeply equal to its parsed JSON', () => {
    fc.assert(fc.property(comparables, (value) => assert.ok(deepEqual(value, readJson(writeJson(value))))))
  })
})

const events: fc.Arbitrary<AqlEvent> = fc
  .record({ lamport: fc.nat(20), timestamp: fc.nat(20), stream: fc.nat(2) })
  .map((given) => eventsFrom([{ ...given, payload: 0 }])[0] as AqlEvent)

const origins: fc.Arbitrary<Metadata> = fc
  .array(events, { maxLength: 3 })
  .map((parts) => parts.reduce<Metadata>(merge, undefined))

describe('merging metadata', () => {
  test('merge is commutative, associative and idempotent', () => {
    fc.assert(
      fc.property(origins, origins, origins, (a, b, c) => {
        assert.ok(sameMetadata(merge(a, b), merge(b, a)))
        assert.ok(sameMetadata(merge(merge(a, b), c), merge(a, merge(b, c))))
        assert.equal(merge(a, undefined), a)
        assert.ok(sameMetadata(merge(a, a), a))
      }),
    )
  })

  test('MetadataSum equals repeated merge, and spans from the minimum to the maximum', () => {
    fc.assert(
      fc.property(fc.array(events, { minLength: 1 }), (parts) => {
        const sum = new MetadataSum()
        for (const part of parts) sum.add(part)
        const merged = parts.reduce<Metadata>(merge, undefined)
        assert.ok(sameMetadata(sum.metadata, merged))
        if (!(merged instanceof Span)) return
        assert.equal(merged.first.lamport, Math.min(...parts.map(({ lamport }) => lamport)))
        assert.equal(merged.last.lamport, Math.max(...parts.map(({ lamport }) => lamport)))
        assert.equal(merged.earliest, Math.min(...parts.map(({ time }) => time)))
        assert.equal(merged.latest, Math.max(...parts.map(({ time }) => time)))
      }),
    )
  })
})
