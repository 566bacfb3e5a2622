import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { PublishScanner } from '../../src/events/publish/publish-scanner.ts'
import { RoutingTable } from '../../src/events/routing-table.ts'
import { fastPaths } from '../../src/fast-paths/index.ts'
import { JsonError } from '../../src/json/json-scanner.ts'
import { ByteReader, checkFrame, MalformedBytes } from '../../src/protocol/index.ts'
import { payloadsOf } from '../support/events.ts'
import { anyByteMutation, mutatedBytes } from '../support/mutations.ts'
import * as fc from '../support/property.ts'
import { isNaivePayload, rawRecord } from './naive-payload.ts'

interface Vectors {
  readonly payloads: readonly string[]
  readonly noPayloads: readonly string[]
  readonly noPayloadBytes: readonly string[]
}

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const vectors = JSON.parse(/^### Payloads[\s\S]*?^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '') as Vectors

const routes = new RoutingTable([], new Map())
const labels = Buffer.from('\x03app\x00', 'latin1')

/** The payload that a publish of these bytes stores; undefined when it is refused or stores something else. */
function published(payload: Uint8Array, skimmer: ReturnType<typeof fastPaths.eventSkimmer>): Buffer | undefined {
  const body = Buffer.concat([Buffer.from('{"data":[{"tags":[],"payload":'), payload, Buffer.from('}]}')])
  try {
    const { done, value } = new PublishScanner(body, 'app', routes, { skimmer }).whole(Number.POSITIVE_INFINITY).next()
    assert.ok(done)
    return value.streams.length === 1 ? value.source.subarray(value.spans[2], value.spans[3]) : undefined
  } catch (error) {
    if (error instanceof JsonError || error instanceof ShoalError) return undefined
    throw error
  }
}

/** Whether a publish of these bytes stores them unchanged, with and without the fast path. */
function isPublishedUnchanged(payload: Uint8Array): boolean {
  const [scanned, skimmed] = (['none', fastPaths.eventSkimmer()] as const).map(
    (skimmer) => published(payload, skimmer)?.equals(payload) ?? false,
  )
  assert.equal(scanned, skimmed)
  return scanned ?? false
}

const isReceived = (payload: Uint8Array): boolean => areReceived([payload])

/** Whether a frame with these payloads is accepted from a peer, if other bytes follow it. */
function areReceived(payloads: readonly Uint8Array[], after = ''): boolean {
  try {
    const record = rawRecord(payloads.map((payload) => ({ labels, payload })))
    const reader = new ByteReader(Buffer.concat([record, Buffer.from(after)]), 0, record.length)
    assert.deepEqual(
      payloadsOf(checkFrame(reader)),
      payloads.map((payload) => Buffer.from(payload).toString('utf8')),
    )
    reader.finish()
    return true
  } catch (error) {
    if (error instanceof MalformedBytes) return false
    throw error
  }
}

function assertSameRule(payload: Uint8Array): void {
  const isAccepted = isPublishedUnchanged(payload)
  const text = Buffer.from(payload.subarray(0, 200)).toString('utf8')
  assert.equal(isReceived(payload), isAccepted, text)
  assert.equal(isNaivePayload(payload), isAccepted, text)
}

const pieces = [
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
  'E9',
  '+',
  'u',
  ' ',
  '\n',
  '\t',
  'true',
  'nul',
]
const piece = fc.oneof(
  fc
    .constantFrom(...pieces, '', '\0', 'ü', '€', '😀', '\\ud800', '\\udc00', '1e308', '1e309', '\ufeff')
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 3 }),
)
const { number } = fc.letrec((tie) => ({
  digits: fc.stringMatching(/^[0-9]{1,3}$/),
  number: fc
    .tuple(
      fc.constantFrom('', '-'),
      tie('digits'),
      fc.constantFrom('', '.5', '.'),
      fc.constantFrom('', 'e', 'E+', 'e-'),
      tie('digits'),
    )
    .map((parts) => parts.join('')),
}))
const texts = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)),
  fc
    .tuple(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(1, '\t'))
    .map(([value, indent]) => JSON.stringify(value, undefined, indent)),
  number as fc.Arbitrary<string>,
  fc.constant('{"a":1,"a":2}'),
)

test('any bytes are accepted from a peer exactly when a publish of them stores these very bytes', () => {
  fc.assert(
    fc.property(texts, fc.array(anyByteMutation(piece), { maxLength: 3 }), (text, mutations) => {
      assertSameRule(mutatedBytes(Buffer.from(text), mutations))
    }),
    { numRuns: 5000 },
  )
})

test('every text of up to three characters of JSON is a payload from a peer if a publish stores it unchanged', () => {
  const characters = [...'{}[]",:01-.e\\ t']
  const texts = (length: number): string[] =>
    length === 0 ? [''] : texts(length - 1).flatMap((text) => characters.map((character) => text + character))
  for (const text of [...texts(0), ...texts(1), ...texts(2), ...texts(3)]) assertSameRule(Buffer.from(text))
})

test('the payloads of a frame are accepted or refused each on its own, whatever their neighbours are', () => {
  const payload = fc.oneof(
    texts.map((text) => Buffer.from(text)),
    fc
      .constantFrom('1', '-', '1.', '.5', 'e3', '0', 'tru', 'e', '"\\', 'n"', '"', '"ü"')
      .map((text) => Buffer.from(text)),
    fc.constantFrom([0xc3], [0x22, 0xc3], [0xbc, 0x22]).map((bytes) => Buffer.from(bytes)),
  )
  fc.assert(
    fc.property(
      fc.array(payload, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '.5', 'e5', '5', '"', 'e'),
      (payloads, after) => {
        assert.equal(areReceived(payloads, after), payloads.every(isNaivePayload))
      },
    ),
    { numRuns: 5000 },
  )
})

test('the limits of nesting and size are those of a publish', () => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
  const mixed = (depth: number) => Buffer.from(`${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`)
  const sized = (size: number) => Buffer.from(`"${'x'.repeat(size - 2)}"`)
  for (const accepted of [nested(512), mixed(512), sized(format.payloadBytes)]) assert.ok(isReceived(accepted))
  for (const refused of [nested(513), mixed(514), sized(format.payloadBytes + 1)]) assert.ok(!isReceived(refused))
  for (const payload of [nested(512), nested(513), mixed(512), mixed(514)]) assertSameRule(payload)
  for (const size of [format.payloadBytes, format.payloadBytes + 1])
    assert.equal(published(sized(size), 'none') !== undefined, isReceived(sized(size)))
})

test('the payloads of the test vectors are accepted or refused as they say', () => {
  for (const text of vectors.payloads) assert.ok(isReceived(Buffer.from(text)), text)
  for (const text of vectors.noPayloads) assert.ok(!isReceived(Buffer.from(text)), text)
  for (const bytes of vectors.noPayloadBytes) assert.ok(!isReceived(Buffer.from(bytes, 'hex')), bytes)
  for (const text of [...vectors.payloads, ...vectors.noPayloads]) assertSameRule(Buffer.from(text))
  for (const bytes of vectors.noPayloadBytes) assertSameRule(Buffer.from(bytes, 'hex'))
})
