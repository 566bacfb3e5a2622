import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, genesis, heads, MalformedBytes } from '../../src/protocol/index.ts'
import { hashThrough, readChunk, unlessMalformed } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { frameOf } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { WrittenStream } from './written-stream.ts'

test('a chunk with an invalid signature, a wrong head, a gap or no frames is refused', () => {
  const key = KeyPair.generate(systemRandom)
  const stream = { node: key.publicKey, number: 3 }
  const start = genesis('t', stream)
  const a = frameOf(start, 0, [{ lamport: 1, time: 2, appId: 'a', tags: [], payload: '1' }], new Uint8Array(16))
  const records = [Buffer.from(a.record)]
  const b = frameOf(a.hash, 1, [{ lamport: 4, time: 2, appId: 'a', tags: [], payload: '2' }], new Uint8Array(16))
  records.push(Buffer.from(b.record))
  const head = { topic: 't', stream, count: 2, lamport: 4, hash: b.hash, checkpoint: false, time: 9 }
  const { frames } = readChunk(encodeChunk(records, heads.sign(head, key)))
  assert.equal(hashThrough(frames, start), b.hash)
  const refused = (list: Uint8Array[], signed: Uint8Array, message: RegExp) =>
    assert.throws(
      () => readChunk(encodeChunk(list, signed)),
      (error) => error instanceof MalformedBytes && message.test(error.message),
    )
  refused(records, heads.sign(head, KeyPair.generate(systemRandom)), /signature/)
  refused(records, heads.sign({ ...head, count: 3 }, key), /head does not match the frames/)
  refused(records, heads.sign({ ...head, lamport: 5 }, key), /head does not match the frames/)
  refused([...records].reverse(), heads.sign(head, key), /gap|does not match/)
  refused([], heads.sign(head, key), /no frames or too many/)
  // Places are cheaper to check than a signature.
  refused([...records].reverse(), heads.sign(head, KeyPair.generate(systemRandom)), /gap|does not match/)
  const twice = frameOf(a.hash, 1, [{ lamport: 1, time: 2, appId: 'a', tags: [], payload: '2' }], new Uint8Array(16))
  refused(
    [records[0] ?? a.record, twice.record],
    heads.sign({ ...head, hash: twice.hash, lamport: 1 }, key),
    /not ascending/,
  )
})

test('a chunk with more than 2047 events is refused, whatever its number of frames', () => {
  const source = new WrittenStream([1024, 1023, 1])
  assert.equal(readChunk(source.chunk(0, 2)).head.count, 2047)
  assert.equal(readChunk(source.chunk(1, 3)).head.count, 2048)
  assert.throws(() => readChunk(source.chunk(0, 3)), /too many events/)
})

test('a flipped bit in a chunk is detected by decoding or by the hash chain', () => {
  const source = new WrittenStream([2, 1])
  const chunk = source.chunk(0, 2)
  const start = genesis('t', source.stream)
  fc.assert(
    fc.property(fc.nat(8 * chunk.length - 1), (bit) => {
      const flipped = Buffer.from(chunk)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      const read = unlessMalformed(() => readChunk(flipped))
      assert.ok(read === undefined || hashThrough(read.frames, start) !== read.head.hash)
    }),
    { numRuns: 500 },
  )
})

test('errors other than MalformedBytes are rethrown', () => {
  assert.equal(
    unlessMalformed(() => 1),
    1,
  )
  assert.throws(() =>
    unlessMalformed(() => {
      throw new Error('another one')
    }),
  )
})
