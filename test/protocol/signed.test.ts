import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import {
  genesis,
  type Hash,
  heads,
  MalformedBytes,
  pruneRecords,
  rangesOf,
  redactionRecords,
  verifyRedactionRecord,
  verifyStoredPrune,
  verifyStoredRedaction,
} from '../../src/protocol/index.ts'
import * as fc from '../support/property.ts'
import { naiveGenesis, naiveHead, naivePrune, naiveRecord, naiveRedaction, uvarint } from './naive.ts'

const key = new KeyPair(Buffer.alloc(32, 7))
const numbers = fc.oneof(fc.nat(300), fc.maxSafeNat())
const topics = fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme' })
const signed = { topic: topics, stream: numbers.map((number) => ({ node: key.publicKey, number })), time: numbers }
const hashes = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('latin1') as Hash)
const someHeads = fc.record(
  { ...signed, count: numbers, lamport: numbers, hash: hashes, checkpoint: fc.boolean() },
  { noNullPrototype: true },
)

test('the genesis hash matches the protocol', () => {
  fc.assert(
    fc.property(signed.topic, signed.stream, (topic, stream) => {
      const expected = (name?: string) => naiveGenesis(topic, stream.node, stream.number, name).toString('latin1')
      assert.equal(genesis(topic, stream), expected())
      assert.equal(genesis(topic, stream, 'imported'), expected('shoal/imported-genesis/1'))
    }),
  )
})

test('a signed head has the canonical encoding of the protocol and round-trips', () => {
  fc.assert(
    fc.property(someHeads, (head) => {
      const { topic, stream, hash, ...rest } = head
      const bytes = naiveHead(topic, stream.node, stream.number, { ...rest, hash: Buffer.from(hash, 'latin1') })
      assert.deepEqual(heads.sign(head, key), Buffer.concat([bytes, key.sign(bytes)]))
      assert.deepEqual(heads.verify(heads.sign(head, key)), head)
    }),
  )
})

const counts = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: format.eventsPerStream }))

test('a prune record has the canonical encoding of the protocol and round-trips', () => {
  fc.assert(
    fc.property(fc.record(signed), counts, hashes, numbers, (common, count, hash, lamport) => {
      const { topic, stream, time } = common
      const bytes = naivePrune(topic, stream.node, stream.number, {
        count,
        hash: Buffer.from(hash, 'latin1'),
        lamport,
        time,
      })
      const record = { ...common, count, hash, lamport }
      const expected = Buffer.concat([bytes, key.sign(bytes)])
      assert.deepEqual(pruneRecords.sign(record, key), expected)
      assert.deepEqual(pruneRecords.verify(expected), record)
      assert.deepEqual(verifyStoredPrune(expected), record)
    }),
  )
})

test('a prune record of no events, or of more than a stream can have, is refused', () => {
  for (const count of [0, format.eventsPerStream + 1, Number.MAX_SAFE_INTEGER]) {
    const hash = Buffer.alloc(32)
    const bytes = naivePrune('t', key.publicKey, 0, { count, hash, lamport: 0, time: 0 })
    assert.throws(() => pruneRecords.verify(Buffer.concat([bytes, key.sign(bytes)])), MalformedBytes)
  }
})

test('a stored prune record of version 1 is read, one that comes from another node is refused', () => {
  const bytes = naiveRecord('shoal/prune/1', 't', key.publicKey, 3, 1024, 7)
  const record = Buffer.concat([bytes, key.sign(bytes)])
  const stream = { node: key.publicKey, number: 3 }
  assert.deepEqual(verifyStoredPrune(record), { topic: 't', stream, count: 1024, time: 7 })
  assert.throws(() => pruneRecords.verify(record), MalformedBytes)
  record[30] = (record[30] ?? 0) ^ 1
  assert.throws(() => verifyStoredPrune(record), MalformedBytes)
})

const offsets = fc.oneof(fc.nat(40), fc.integer({ min: 0, max: format.eventsPerStream - 1 }))
const signedBy = (bytes: Buffer) => Buffer.concat([bytes, key.sign(bytes)])

test('a redaction record has the canonical encoding of the protocol and round-trips', () => {
  fc.assert(
    fc.property(fc.record(signed), fc.array(offsets, { minLength: 1, maxLength: 50 }), (common, list) => {
      const { topic, stream, time } = common
      const sorted = [...new Set(list)].sort((a, b) => a - b)
      const expected = signedBy(naiveRedaction(topic, stream.node, stream.number, sorted, time))
      const record = { ...common, ranges: rangesOf(list) }
      assert.deepEqual(redactionRecords.sign(record, key), expected)
      assert.deepEqual(verifyRedactionRecord(expected), record)
      assert.deepEqual(verifyStoredRedaction(expected), record)
      assert.deepEqual(
        record.ranges.flatMap(({ first, count }) => Array.from({ length: count }, (_, i) => first + i)),
        sorted,
      )
    }),
  )
})

test('a redaction record of version 1 is one of a single offset', () => {
  fc.assert(
    fc.property(fc.record(signed), offsets, (common, offset) => {
      const { topic, stream, time } = common
      const bytes = signedBy(naiveRecord('shoal/redaction/1', topic, stream.node, stream.number, offset, time))
      const record = { ...common, ranges: [{ first: offset, count: 1 }] }
      assert.deepEqual(verifyRedactionRecord(bytes), record)
      assert.deepEqual(verifyStoredRedaction(bytes), record)
    }),
  )
})

test('a redaction record with ranges that are empty, adjacent, too many or too large is refused', () => {
  const { eventsPerStream, offsetsPerRedaction, rangesPerRedaction } = format
  const recordOf = (...numbers: number[]) => {
    const start = naiveRedaction('t', key.publicKey, 0, [], 0)
    return signedBy(Buffer.concat([start.subarray(0, -2), ...numbers.map(uvarint), uvarint(0)]))
  }
  const pairs = (count: number, ...pair: number[]) => new Array(count).fill(pair).flat() as number[]
  const good = [
    [1, 0, 1],
    [2, 0, 1, 1, 1],
    [1, 7, offsetsPerRedaction],
    [rangesPerRedaction, ...pairs(rangesPerRedaction, 1, 16)],
    [1, eventsPerStream - 1, 1],
  ]
  for (const numbers of good) assert.doesNotThrow(() => verifyRedactionRecord(recordOf(...numbers)), String(numbers))
  const bad = [
    [0],
    [1, 0, 0],
    [2, 0, 1, 0, 1],
    [2, 0, 1, 1, 0],
    [1, 7, offsetsPerRedaction + 1],
    [2, 7, offsetsPerRedaction, 1, 1],
    [rangesPerRedaction + 1, ...pairs(rangesPerRedaction + 1, 1, 1)],
    [1, eventsPerStream, 1],
    [1, eventsPerStream - 1, 2],
    [1, Number.MAX_SAFE_INTEGER, 1],
    [2, 0, 1, Number.MAX_SAFE_INTEGER, 1],
    [1, 0, Number.MAX_SAFE_INTEGER],
    // A number more, and one less.
    [1, 0, 1, 1],
    [2, 0, 1, 5],
  ]
  for (const numbers of bad)
    assert.throws(() => verifyRedactionRecord(recordOf(...numbers)), MalformedBytes, String(numbers))
  const legacy = (offset: number) => signedBy(naiveRecord('shoal/redaction/1', 't', key.publicKey, 0, offset, 0))
  for (const offset of [eventsPerStream, Number.MAX_SAFE_INTEGER])
    assert.throws(() => verifyRedactionRecord(legacy(offset)), MalformedBytes)
})

test('signed bytes with a flipped bit, or of another type, are refused', () => {
  fc.assert(
    fc.property(someHeads, fc.nat(), (head, at) => {
      const bytes = heads.sign(head, key)
      assert.throws(() => pruneRecords.verify(bytes), MalformedBytes)
      assert.throws(() => verifyRedactionRecord(bytes), MalformedBytes)
      const bit = at % (8 * bytes.length)
      const place = bit >> 3
      bytes[place] = (bytes[place] ?? 0) ^ (1 << (bit & 7))
      assert.throws(() => heads.verify(bytes), MalformedBytes)
    }),
  )
})
