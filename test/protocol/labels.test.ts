import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { PublishScanner } from '../../src/events/publish/publish-scanner.ts'
import { RoutingTable } from '../../src/events/routing-table.ts'
import { appIdProblem, nodeAppId } from '../../src/identity/index.ts'
import { JsonError } from '../../src/json/json-scanner.ts'
import { ByteReader, checkFrame, decodeLabels, MalformedBytes } from '../../src/protocol/index.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'
import { uvarint } from './naive.ts'
import { rawRecord } from './naive-payload.ts'

const routes = new RoutingTable([], new Map())
const appId = Buffer.from('com.example.app')

const sized = (bytes: Uint8Array): Buffer => Buffer.concat([uvarint(bytes.length), bytes])

function labelsOf(appId: Uint8Array, tags: readonly Uint8Array[]): Buffer {
  return Buffer.concat([sized(appId), uvarint(tags.length), ...tags.map(sized)])
}

/** Whether an event with these labels is accepted from a peer. */
function isReceived(labels: Uint8Array): boolean {
  try {
    checkFrame(new ByteReader(rawRecord([{ labels, payload: Buffer.from('1') }])))
    return true
  } catch (error) {
    if (error instanceof MalformedBytes) return false
    throw error
  }
}

/** A JSON string of bytes, which may be invalid UTF-8. */
function stringOf(bytes: Uint8Array): Buffer {
  const escaped = Array.from(bytes, (byte) =>
    byte < 0x20 || byte === 0x22 || byte === 0x5c
      ? Buffer.from(`\\u${byte.toString(16).padStart(4, '0')}`)
      : Buffer.of(byte),
  )
  return Buffer.concat([Buffer.from('"'), ...escaped, Buffer.from('"')])
}

/** The labels that a publish of these tags stores; undefined when it is refused. */
function published(tags: readonly Uint8Array[]): Buffer | undefined {
  const list = tags.flatMap((tag, i) => (i === 0 ? [stringOf(tag)] : [Buffer.from(','), stringOf(tag)]))
  const body = Buffer.concat([Buffer.from('{"data":[{"tags":['), ...list, Buffer.from('],"payload":1}]}')])
  try {
    const { done, value } = new PublishScanner(body, String(appId), routes).whole(Number.POSITIVE_INFINITY).next()
    assert.ok(done)
    return value.source.subarray(value.spans[0], value.spans[1])
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Whether an event with these tags is accepted from a peer. Asserts that publishing them has the same outcome. */
function areTagsAccepted(tags: readonly Uint8Array[]): boolean {
  const labels = labelsOf(appId, tags)
  const isAccepted = isReceived(labels)
  assert.equal(published(tags)?.equals(labels) ?? false, isAccepted)
  return isAccepted
}

test('an app ID is accepted from a peer exactly when an app with this ID can get a token', () => {
  const bytes = fc.oneof(
    fc.stringMatching(/^[a-z0-9.-]{0,6}$/).map((text) => Buffer.from(text)),
    fc.stringMatching(/^[a-z]\.[A-Z_ \n\0/é]$/).map((text) => Buffer.from(text)),
    fc.string({ maxLength: 4, unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 4 }),
    fc.integer({ min: format.appIdBytes - 2, max: format.appIdBytes + 2 }).map((length) => Buffer.alloc(length, 'a')),
  )
  fc.assert(
    fc.property(bytes, (bytes) => {
      const isValid = isUtf8(bytes) && appIdProblem(Buffer.from(bytes).toString('utf8')) === undefined
      assert.equal(isReceived(labelsOf(bytes, [])), isValid)
    }),
    { numRuns: 3000 },
  )
  for (const valid of [nodeAppId, 'a', '-', 'com.example.my-app-2'])
    assert.ok(isReceived(labelsOf(Buffer.from(valid), [])))
  for (const invalid of ['', '.', 'a.', '.a', 'a..b', 'A', 'a_b', 'a b', 'a\n', 'a\0', 'é'])
    assert.ok(!isReceived(labelsOf(Buffer.from(invalid), [])), invalid)
})

test('tags in normal form are accepted from a peer exactly when a publish of them stores these very labels', () => {
  const text = fc.oneof(
    anyTagText,
    fc.string({ maxLength: 3, unit: 'binary' }),
    fc.constantFrom('a', 'ab', 'b', '', '\0', '\n', '"'),
  )
  const tag = fc.oneof(
    { weight: 8, arbitrary: text.map((text) => Buffer.from(text.toWellFormed().normalize('NFC'))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom([0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]).map((bytes) => Buffer.from(bytes)),
    },
    {
      weight: 1,
      arbitrary: fc
        .integer({ min: format.tagBytes - 1, max: format.tagBytes + 1 })
        .map((length) => Buffer.alloc(length, 'x')),
    },
  )
  const sorted = (tags: Buffer[]): Buffer[] => [...tags].sort(Buffer.compare)
  const lists = fc.array(tag, { maxLength: 5 })
  let accepted = 0
  fc.assert(
    fc.property(fc.oneof(lists, lists.map(sorted)), (tags) => {
      if (areTagsAccepted(tags)) accepted++
    }),
    { numRuns: 5000 },
  )
  assert.ok(accepted > 500, `${accepted} of 5000 lists were accepted`)
  const tagsOf = (count: number): Buffer[] => Array.from({ length: count }, (_, i) => Buffer.from(`${1000 + i}`))
  assert.ok(areTagsAccepted(tagsOf(format.tagsPerEvent)))
  assert.ok(!areTagsAccepted(tagsOf(format.tagsPerEvent + 1)))
})

test('a tag that is not in normal form is accepted from a peer, since that depends on the version of Unicode', () => {
  const tag = Buffer.from('e\u0301')
  assert.ok(isReceived(labelsOf(appId, [tag])))
  assert.deepEqual(published([tag]), labelsOf(appId, [Buffer.from('é')]))
})

test('a number of tags beyond the bytes of stored labels is refused', () => {
  for (const count of [2, 1000, Number.MAX_SAFE_INTEGER]) {
    const labels = Buffer.concat([sized(appId), uvarint(count), sized(Buffer.from('t'))])
    assert.throws(() => decodeLabels(new ByteReader(labels)), MalformedBytes)
  }
})

test('two tags are accepted if both are UTF-8 and in the order of their bytes, whatever they have in common', () => {
  const tag = fc
    .tuple(fc.constantFrom('', 'abc', 'abcd', 'abcdefg', 'ab\u00e9'), fc.uint8Array({ maxLength: 9 }))
    .map(([start, rest]) => Buffer.concat([Buffer.from(start), rest]))
    .filter((bytes) => bytes.length > 0)
  fc.assert(
    fc.property(tag, tag, (a, b) => {
      const isOrdered = isUtf8(a) && isUtf8(b) && Buffer.compare(a, b) < 0
      assert.equal(isReceived(labelsOf(appId, [a, b])), isOrdered)
    }),
  )
})
