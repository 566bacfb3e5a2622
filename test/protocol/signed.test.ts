import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { genesis, type Hash, heads, MalformedBytes, pruneRecords, redactionRecords } from '../../src/protocol/index.ts'
import * as fc from '../support/property.ts'
import { naiveGenesis, naiveHead, naiveRecord } from './naive.ts'

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

test('prune and redaction records have the canonical encoding of the protocol and round-trip', () => {
  fc.assert(
    fc.property(fc.record(signed), numbers, (common, value) => {
      const { topic, stream, time } = common
      const expected = (name: string) => {
        const bytes = naiveRecord(name, topic, stream.node, stream.number, value, time)
        return Buffer.concat([bytes, key.sign(bytes)])
      }
      const [prune, redaction] = [
        { ...common, count: value },
        { ...common, offset: value },
      ]
      assert.deepEqual(pruneRecords.sign(prune, key), expected('shoal/prune/1'))
      assert.deepEqual(pruneRecords.verify(expected('shoal/prune/1')), prune)
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
