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
  redactionRecords,
  verifyStoredPrune,
} from '../../src/protocol/index.ts'
import * as fc from '../support/property.ts'
import { naiveGenesis, naiveHead, naivePrune, naiveRecord } from './naive.ts'

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

test('a redaction record has the canonical encoding of the protocol and round-trips', () => {
  fc.assert(
    fc.property(fc.record(signed), numbers, (common, value) => {
      const { topic, stream, time } = common
      const expected = (name: string) => {
        const bytes = naiveRecord(name, topic, stream.node, stream.number, value, time)
        return Buffer.concat([bytes, key.sign(bytes)])
      }
      const redaction = { ...common, offset: value }
      assert.deepEqual(redactionRecords.sign(redaction, key), expected('shoal/redaction/1'))
      assert.deepEqual(redactionRecords.verify(expected('shoal/redaction/1')), redaction)
    }),
  )
})

test('signed bytes with a flipped bit, or of another type, are refused', () => {
  fc.assert(
    fc.property(someHeads, fc.nat(), (head, at) => {
      const bytes = heads.sign(head, key)
      assert.throws(() => pruneRecords.verify(bytes), MalformedBytes)
      assert.throws(() => redactionRecords.verify(bytes), MalformedBytes)
      const bit = at % (8 * bytes.length)
      const place = bit >> 3
      bytes[place] = (bytes[place] ?? 0) ^ (1 << (bit & 7))
      assert.throws(() => heads.verify(bytes), MalformedBytes)
    }),
  )
})
