import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import { PublishScanner } from '../../src/events/publish/publish-scanner.ts'
import { RoutingTable } from '../../src/events/routing-table.ts'
import { inputBytes } from '../../src/fast-paths/event-program.ts'
import { type EventSkimmer, eventSkimmer, verified } from '../../src/fast-paths/event-skimmer.ts'
import { JsonError } from '../../src/json/json-scanner.ts'
import { ByteWriter } from '../../src/protocol/index.ts'
import type { AppendRequest } from '../../src/store/index.ts'
import { anyMutation, mutated } from '../support/mutations.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'

const app = 'com.example.app'
const routes = new RoutingTable([{ from: "'a' & 'b'", into: 'both' }], new Map([['both', 5]]))
const skimmer = eventSkimmer() as EventSkimmer

function eventsOf({ source, spans, streams }: AppendRequest): string[] {
  return Array.from(streams, (stream, i) => {
    const [labels, labelsEnd, payload, payloadEnd] = spans.subarray(4 * i, 4 * i + 4)
    return `${stream} ${source.toString('hex', labels, labelsEnd)} ${source.toString('utf8', payload, payloadEnd)}`
  })
}

interface ReadOptions {
  readonly skimmer: EventSkimmer | 'none'
  readonly appId?: string
  readonly sliceBytes?: number
}

/** Returns the events of a body, or the error message. */
function read(
  text: string | Buffer,
  { skimmer, appId = app, sliceBytes = tuning.scanSliceBytes }: ReadOptions,
): string[] | string {
  try {
    const slices = new PublishScanner(Buffer.from(text as string), appId, routes, { skimmer }).whole(sliceBytes)
    let slice = slices.next()
    while (slice.done !== true) slice = slices.next()
    return eventsOf(slice.value)
  } catch (error) {
    if (error instanceof JsonError) return error.message
    throw error
  }
}

/** Asserts that the results with and without the skimmer are equal. */
function assertSameResult(text: string | Buffer, options: Omit<ReadOptions, 'skimmer'> = {}): void {
  assert.deepEqual(
    read(text, { ...options, skimmer }),
    read(text, { ...options, skimmer: 'none' }),
    text.toString().slice(0, 500),
  )
}

/** Returns how many events are skimmed, starting with the first one. */
function skimmedCount(text: string, appId: Buffer = Buffer.from('\x01x')): number {
  return skimmer.read(skimmer.newReader(), Buffer.from(text), text.indexOf('[') + 1, appId, 1e9, 1e9)
}

const bodyOf = (events: readonly unknown[]): string => JSON.stringify({ data: events })
const payloadBody = (payload: string, after = '}]}'): string => `{"data":[{"tags":["a"],"payload":${payload}${after}`

const simpleText = fc.string({ unit: fc.constantFrom(...'abc 019:,{}[]ü€😀') })
const decimal = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ min: -1e9, max: 1e9, noNaN: true }))
const number = decimal.filter((value) => !JSON.stringify(value).includes('e'))
const { value: simpleValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(true, false, null),
    number,
    simpleText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(simpleText, tie('value'), { maxKeys: 4 }),
  ),
}))

const asciiTag = fc.string({ unit: fc.constantFrom(...'abcd:'), minLength: 1, maxLength: 40 })
const foreignTag = anyTagText.filter((tag) => !/[\\"\p{Cc}]/u.test(tag) && Buffer.byteLength(tag) < 128)
const plainTag = fc.oneof({ weight: 3, arbitrary: asciiTag }, foreignTag)
const longTag = fc.integer({ min: 110, max: 134 }).map((length) => 'x'.repeat(length))
const fewTags = fc.array(fc.oneof({ weight: 5, arbitrary: plainTag }, longTag, anyTagText), {
  minLength: 1,
  maxLength: 6,
})
const manyTags = fc
  .integer({ min: 120, max: format.tagsPerEvent })
  .map((count) => Array.from({ length: count }, (_, i) => `${1000 + i}`))
const sorted = (tags: readonly string[]): string[] => [...new Set(tags)].sort()
const anyTags = fc.oneof({ weight: 9, arbitrary: fewTags }, { weight: 9, arbitrary: fewTags.map(sorted) }, manyTags)
const eventOf = (tags: fc.Arbitrary<readonly string[]>, payload: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc
    .tuple(tags, payload, fc.boolean())
    .map(([tags, payload, tagsFirst]) => (tagsFirst ? { tags, payload } : { payload, tags }))
const simpleEvent = eventOf(fc.array(plainTag, { minLength: 1, maxLength: 6 }), simpleValue)
const anyEvent = eventOf(anyTags, fc.oneof(simpleValue, fc.jsonValue({ maxDepth: 4 })))

test('all events as serializers write them are skimmed, with the same result as the scanner', () => {
  fc.assert(
    fc.property(fc.array(simpleEvent, { minLength: 1, maxLength: 12 }), (events) => {
      const text = bodyOf(events)
      assert.equal(skimmedCount(text), events.length)
      assertSameResult(text)
    }),
    { numRuns: 3000 },
  )
})

test('mutated bodies are parsed or rejected as without the skimmer', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...'"\\{}[],:0-.e+u \n\0',
      '',
      'true',
      'fals',
      '""',
      '","',
      'ü',
      '\\u0061',
      '"],"x":["',
      '"tags":[]',
    ),
    fc.string({ maxLength: 2, unit: 'binary' }),
  )
  const bodies = fc.array(anyEvent, { maxLength: 4 }).map(bodyOf)
  fc.assert(
    fc.property(bodies, fc.array(anyMutation(piece), { maxLength: 3 }), (body, mutations) => {
      assertSameResult(mutated(body, mutations).toWellFormed())
    }),
    { numRuns: 20_000 },
  )
})

test('every payload of up to four JSON characters is parsed or rejected as without the skimmer', () => {
  const characters = [...'{}[]",:01-.e\\ ta']
  const texts = (length: number): string[] =>
    length === 0 ? [''] : texts(length - 1).flatMap((text) => characters.map((character) => text + character))
  for (const payload of [0, 1, 2, 3, 4].flatMap(texts)) assertSameResult(payloadBody(payload))
})

test('a body truncated at any byte is rejected, also when the memory holds the whole body from before', () => {
  const text = bodyOf([
    { tags: ['a', 'b'], payload: { x: [1, 'two', true, false, null] } },
    { payload: -12.5, tags: ['b', 'a'] },
  ])
  for (let end = 0; end < text.length; end++) {
    assertSameResult(text)
    assertSameResult(text.slice(0, end))
  }
})

test('a body with other alphabets is rejected without any one of its bytes, or truncated at any byte', () => {
  const tags = ['größe', 'Машина', '机器', 'ガ', '🏭', 'e\u0301', 'abc']
  const body = Buffer.from(
    bodyOf([
      { tags, payload: tags.join() },
      { payload: 'ü', tags: tags.slice(1) },
    ]),
  )
  assertSameResult(body)
  for (let at = 0; at < body.length; at++) {
    assertSameResult(body.subarray(0, at))
    assertSameResult(Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]))
  }
})

test('a body with any byte in place of one of a tag is parsed or rejected as without the skimmer', () => {
  const body = Buffer.from(bodyOf([{ tags: ['ß机🏭'], payload: 1 }]))
  const [start, end] = [body.indexOf('ß'), body.indexOf('"],')]
  for (let at = start; at < end; at++)
    for (let byte = 0; byte < 256; byte++) {
      const changed = Buffer.from(body)
      changed[at] = byte
      assertSameResult(changed)
    }
})

test('only sorted ASCII tags are copied as labels, whatever follows them', () => {
  const hasLabels = (tags: readonly string[]): boolean => {
    const body = bodyOf([{ tags, payload: 'ü' }])
    assert.equal(skimmedCount(body), 1)
    assertSameResult(body)
    return skimmer.hasLabels(0)
  }
  for (let length = 1; length < 40; length++) {
    const tag = 'x'.repeat(length)
    assert.ok(hasLabels([tag]))
    assert.ok(hasLabels([tag, `${tag}y`]))
    assert.ok(!hasLabels([`${tag}y`, tag]))
    assert.ok(!hasLabels([tag, tag]))
    for (let at = 0; at <= length; at++) assert.ok(!hasLabels([`${tag.slice(0, at)}é${tag.slice(at)}`]))
    assert.ok(!hasLabels([tag, 'é']))
  }
})

test('literals and numbers are skimmed only if complete, without exponents and not too long', () => {
  const digits = '1234567890'.repeat(5)
  const skimmed = [
    'true',
    'false',
    'null',
    '0',
    '-0',
    '-0.5',
    '10',
    '1234.56789',
    '0.000000001',
    digits,
    `-${digits}.${digits}`,
  ]
  for (const text of skimmed)
    for (const value of [text, `[${text}]`, `{"a":${text}}`, `[${text},${text}]`])
      assert.equal(skimmedCount(payloadBody(value)), 1, value)
  const notSkimmed = [
    'tru',
    'falsy',
    'nul',
    'truex',
    '01',
    '-',
    '-a',
    '1.',
    '.5',
    '1.x',
    '1e5',
    '+1',
    `1${digits}`,
    `0.1${digits}`,
  ]
  for (const text of notSkimmed)
    for (const value of [text, `[${text}]`, `{"a":${text}}`, `[${text},${text}]`]) {
      assert.equal(skimmedCount(payloadBody(value)), 0, value)
      assertSameResult(payloadBody(value))
    }
})

test('up to 127 tags of up to 127 bytes each are skimmed', () => {
  const tagsBody = (tags: readonly string[]): string => bodyOf([{ tags, payload: 1 }])
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `${1000 + i}`)
  for (const [tags, isSkimmed] of [
    [['x'.repeat(127)], 1],
    [['x'.repeat(128)], 0],
    [['x'.repeat(format.tagBytes + 1)], 0],
    [many(127), 1],
    [many(128), 0],
    [many(format.tagsPerEvent + 1), 0],
    [[], 0],
    [[''], 0],
    [['ü'], 1],
    [['ü'.repeat(63)], 1],
    [['ü'.repeat(64)], 0],
    [['\u0000'], 0],
  ] as const) {
    assert.equal(skimmedCount(tagsBody(tags)), isSkimmed)
    assertSameResult(tagsBody(tags))
  }
})

test('tags are sorted by bytes without duplicates, also with long common prefixes', () => {
  const common = fc.constantFrom('', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), 'x'.repeat(40))
  const tag = fc
    .tuple(common, fc.string({ unit: fc.constantFrom(...'ab~!'), maxLength: 3 }))
    .map((parts) => parts.join(''))
  const tags = fc.array(
    tag.filter((tag) => tag !== ''),
    { minLength: 1, maxLength: 5 },
  )
  fc.assert(
    fc.property(tags, (tags) => {
      const text = bodyOf([{ tags, payload: 1 }])
      assert.equal(skimmedCount(text), 1)
      assertSameResult(text)
    }),
    { numRuns: 5000 },
  )
})

test('values are skimmed up to the maximum nesting depth', () => {
  const deep = (depth: number): string => payloadBody('['.repeat(depth) + ']'.repeat(depth))
  assert.equal(skimmedCount(deep(format.jsonNesting)), 1)
  assert.equal(skimmedCount(deep(format.jsonNesting + 1)), 0)
  for (const depth of [format.jsonNesting - 1, format.jsonNesting, format.jsonNesting + 1])
    assertSameResult(deep(depth))
})

test('bodies larger than the memory are read in slices of any size, by several readers in turn', () => {
  const payload = fc.oneof(
    { weight: 20, arbitrary: fc.nat(3000) },
    { weight: 1, arbitrary: fc.integer({ min: inputBytes - 200, max: inputBytes + 200 }) },
  )
  const sizes = fc.array(payload, { minLength: 60, maxLength: 120 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 200_000 }), (sizes, bytes) => {
      const text = bodyOf(sizes.map((size, i) => ({ tags: [`${i}`], payload: 'p'.repeat(size) })))
      const expected = read(text, { skimmer: 'none' })
      assert.deepEqual(read(text, { skimmer, sliceBytes: bytes }), expected)
      const scanners = [0, 1].map(() => new PublishScanner(Buffer.from(text), app, routes, { skimmer }))
      const slices = scanners.map((scanner) => scanner.whole(bytes))
      const finished = new Map<object, string[]>()
      while (finished.size < slices.length)
        for (const slice of slices) {
          const step = slice.next()
          if (step.done === true && !finished.has(slice)) finished.set(slice, eventsOf(step.value))
        }
      for (const events of finished.values()) assert.deepEqual(events, expected)
    }),
    { numRuns: 30 },
  )
})

test('a call with more events than allowed is rejected', () => {
  const events = (count: number): string => `{"data":[${Array(count).fill('{"tags":["a"],"payload":1}').join(',')}]}`
  assert.equal(read(events(limits.eventsPerPublish), { skimmer }).length, limits.eventsPerPublish)
  assertSameResult(events(limits.eventsPerPublish + 1))
  assert.match(String(read(events(limits.eventsPerPublish + 1), { skimmer })), /more than 20000 events/)
})

test('long gaps before and between events do not change the result', () => {
  const events = (count: number): string => Array(count).fill('{"tags":["a"],"payload":1}').join(',')
  const gap = ' '.repeat(tuning.scanSliceBytes + 300_000)
  assertSameResult(`{"data":[${events(100)}${gap},${events(100)}]}`)
  assertSameResult(`{"data":[${events(limits.eventsPerPublish - 10)}${gap},${events(200)}]}`)
  const appId = 'x'.repeat(format.appIdBytes)
  assertSameResult(`{"x":"${gap}","data":[${events(2400)}]}`, { appId })
})

test('labels start with the app ID, of any length', () => {
  const text = bodyOf([{ tags: ['a'], payload: 1 }])
  for (const length of [1, 127, 128, format.appIdBytes]) {
    assert.equal(skimmedCount(text, new ByteWriter().text('x'.repeat(length)).copy()), 1)
    assertSameResult(text, { appId: 'x'.repeat(length) })
  }
})

test('there is no skimmer if it cannot be instantiated or fails its self-test', () => {
  const failing = (): never => {
    throw new RangeError('Cannot allocate Wasm memory for new instance')
  }
  for (const make of [failing, () => undefined, () => ({ memory: new ArrayBuffer(8 * 64 * 1024), run: () => {} })])
    assert.equal(verified(make), 'none')
})
