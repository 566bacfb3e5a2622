import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { tuning } from '../../src/base/tuning.ts'
import { encodeChunk, heads, MalformedBytes } from '../../src/protocol/index.ts'
import { fitsChunk } from '../../src/replication/chunk-bounds.ts'
import { growOwn, readChunk, startOfStream } from '../../src/replication/index.ts'
import { withoutPayloads } from '../../src/replication/redaction.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const mebibyte = 1024 * 1024

test('more bytes since the last checkpoint than a chunk can carry are refused, in one chunk or in several', () => {
  const source = new WrittenStream([1, 1, 1], { text: 'x'.repeat(5 * mebibyte) })
  for (const checkpoint of [false, true]) {
    const receiver = new PlainReceiver(source, contextOf())
    receiver.receive(source.chunk(0, 1))
    receiver.receive(source.chunk(1, 2, { checkpoint }))
    const before = { ...receiver.position }
    if (checkpoint) assert.equal(receiver.receive(source.chunk(2, 3)), 'stored')
    else {
      assert.throws(
        () => receiver.receive(source.chunk(2, 3)),
        (error) => error instanceof MalformedBytes && /too few checkpoints/.test(error.message),
      )
      assert.deepEqual(receiver.position, before)
    }
  }
})

test('whatever is redacted, frames that fit a chunk are encoded within its size', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(25)), fc.nat(9), (sizes, offsets, length) => {
      const source = new WrittenStream(sizes, { text: 'x'.repeat(length) })
      const topic = 't'.repeat(format.topicBytes)
      const { frames, head } = readChunk(source.chunk(0, sizes.length, { topic, time: Number.MAX_SAFE_INTEGER }))
      const bytes = frames.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
      const records = withoutPayloads(frames, offsets).map(({ bytes, record }) => bytes.subarray(...record))
      const size = encodeChunk(records, heads.sign(head, source.key)).length
      // The largest number of bytes that may be added before `fitsChunk` refuses.
      const room = format.chunkBytes - size
      assert.equal(fitsChunk(source.count, bytes + room), false)
    }),
  )
})

test('the largest chunk of an own stream fits: it is full after the frame with the largest event', () => {
  const labels = format.tagsPerEvent * (format.tagBytes + 2) + format.appIdBytes + 2
  const perEvent = 2 * 8 + 8
  const lastFrame = tuning.ownFrameBytes + format.payloadBytes + labels + perEvent * tuning.eventsPerOwnFrame + 64
  assert.equal(fitsChunk(format.eventsPerChunk, format.bytesPerCheckpoint + lastFrame), true)
})

test('a frame of an own stream that could make a chunk too large to be transferred is not appended', () => {
  const stream = startOfStream('t', 'live', new WrittenStream([1]).stream, true)
  const frame = { count: 1, lamport: 0, chain: stream.chain, bytes: 11 * mebibyte }
  assert.throws(() => growOwn(stream, frame), /can be transferred/)
  assert.throws(() => growOwn(stream, { ...frame, count: 1025, bytes: 1 }), /can be transferred/)
  growOwn(stream, { ...frame, count: 1024, bytes: 10 * mebibyte })
  assert.equal(stream.count, 1024)
})
