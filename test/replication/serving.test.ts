import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { chunkFrom, chunksFrom, readChunk } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { storedCopy } from './plain-stream.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT' && message.test(error.message)

interface Case {
  readonly source: WrittenStream
  readonly checkpoints: readonly number[]
}

const cases: fc.Arbitrary<Case> = fc
  .array(fc.record({ size: fc.integer({ min: 1, max: 5 }), checkpoint: fc.boolean() }), { minLength: 1, maxLength: 8 })
  .map((frames) => ({
    source: new WrittenStream(frames.map(({ size }) => size)),
    checkpoints: frames.flatMap(({ checkpoint }, i) => (checkpoint ? [i + 1] : [])),
  }))

/** A node that has the first frames of a stream, with its checkpoints. */
function receiverOf({ source, checkpoints }: Case, frames: number): PlainReceiver {
  const receiver = new PlainReceiver(source, contextOf())
  for (let i = 0; i < frames; i++) receiver.receive(source.chunk(i, i + 1, { checkpoint: checkpoints.includes(i + 1) }))
  return receiver
}

test('from every frame border a chunk leads to the next checkpoint or to the newest head, and continues there', () => {
  fc.assert(
    fc.property(cases, fc.nat(), (given, from) => {
      const { source, checkpoints } = given
      const frames = from % source.frames.length
      const stored = storedCopy(source, checkpoints)
      const chunk = readChunk(chunkFrom(stored, stored.newest, source.startOf(frames)) as Uint8Array)
      const next = checkpoints.find((frame) => frame > frames)
      assert.equal(chunk.first, source.startOf(frames))
      assert.equal(chunk.head.count, source.startOf(next ?? source.frames.length))
      assert.equal(chunk.head.checkpoint, next !== undefined)
      const receiver = receiverOf(given, frames)
      assert.equal(receiver.receive(chunkFrom(stored, stored.newest, source.startOf(frames)) as Uint8Array), 'stored')
      assert.equal(receiver.position.count, chunk.head.count)
    }),
  )
})

test('chunks from a frame border are consecutive, within the size, at least one, and as many as fit', () => {
  fc.assert(
    fc.property(cases, fc.nat(), fc.integer({ min: 1, max: 3000 }), (given, from, maxBytes) => {
      const { source, checkpoints } = given
      const frames = from % source.frames.length
      const stored = storedCopy(source, checkpoints)
      const chunks = chunksFrom(stored, stored.newest, source.startOf(frames), maxBytes)
      const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
      assert.ok(chunks.length === 1 || (chunks.length > 1 && size <= maxBytes))
      const receiver = receiverOf(given, frames)
      for (const chunk of chunks) assert.equal(receiver.receive(chunk), 'stored')
      const next = chunkFrom(stored, stored.newest, receiver.position.count)
      assert.ok(next === undefined ? receiver.position.count === source.count : size + next.length > maxBytes)
    }),
  )
})

test('an offset within a frame is refused with the borders of the frame', () => {
  const source = new WrittenStream([3, 4, 2])
  const stored = storedCopy(source, [2])
  for (const [from, first, end] of [
    [1, 0, 3],
    [2, 0, 3],
    [4, 3, 7],
    [6, 3, 7],
    [8, 7, 9],
  ] as const) {
    const borders = refused(new RegExp(`at the offset ${from}\\. It is in the frame from ${first} to ${end}:`))
    assert.throws(() => chunkFrom(stored, stored.newest, from), borders)
    assert.throws(() => chunksFrom(stored, stored.newest, from, 1), borders)
  }
})

test('there is no chunk at the end of a stream and beyond, and none of pruned events', () => {
  const source = new WrittenStream([3, 4, 2])
  const stored = storedCopy(source, [1], 1)
  for (const from of [9, 10, 1000]) {
    assert.equal(chunkFrom(stored, stored.newest, from), undefined)
    assert.deepEqual(chunksFrom(stored, stored.newest, from, 1), [])
  }
  for (const from of [0, 2]) {
    assert.throws(() => chunkFrom(stored, stored.newest, from), refused(/were pruned/))
    assert.throws(() => chunksFrom(stored, stored.newest, from, 1), refused(/were pruned/))
  }
  assert.equal(readChunk(chunkFrom(stored, stored.newest, 3) as Uint8Array).first, 3)
})

test('numbers that are no offsets and no sizes are refused', () => {
  const stored = storedCopy(new WrittenStream([1]))
  for (const from of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, format.eventsPerStream + 1])
    assert.throws(() => chunkFrom(stored, stored.newest, from), refused(/is no offset/))
  for (const size of [0, -1, 1.5, Number.NaN]) {
    assert.throws(() => chunkFrom(stored, stored.newest, 0, size), refused(/is no size/))
    assert.throws(() => chunksFrom(stored, stored.newest, 0, size), refused(/is no size/))
  }
})

test('a chunk that is larger than the size is not given, and the rest of it is not read', () => {
  const source = new WrittenStream([1, 1, 1, 1])
  const stored = storedCopy(source)
  const { length } = chunkFrom(stored, stored.newest, 0) as Uint8Array
  let read = 0
  const counting = {
    ...stored,
    *frames(from: number, to: number) {
      for (const frame of stored.frames(from, to)) {
        read++
        yield frame
      }
    },
  }
  assert.equal(chunkFrom(stored, stored.newest, 0, length)?.length, length)
  assert.equal(chunkFrom(stored, stored.newest, 0, length - 1), undefined)
  assert.equal(chunkFrom(counting, stored.newest, 0, 1), undefined)
  assert.equal(read, 1)
})

test('a chunk that no node would accept is an error, unless a smaller size was asked for', () => {
  const large = { text: 'x'.repeat(format.payloadBytes - 100) }
  const source = new WrittenStream([1, 1], large)
  const stored = storedCopy(source)
  assert.throws(() => chunkFrom(stored, stored.newest, 0), { code: 'ERR_IO', message: /larger than 12582912 bytes/ })
  assert.equal(chunkFrom(stored, stored.newest, 0, 1000), undefined)
  assert.ok(chunkFrom(stored, stored.newest, 1))
})

test('the number and the size of the chunks of one read are limited, whatever is asked for', () => {
  const sizes = new Array<number>(limits.servedChunks + 10).fill(1)
  const stored = storedCopy(
    new WrittenStream(sizes),
    sizes.map((_, i) => i + 1),
  )
  assert.equal(chunksFrom(stored, stored.newest, 0, Number.MAX_SAFE_INTEGER).length, limits.servedChunks)
  const large = new WrittenStream([1, 1, 1, 1], { text: 'x'.repeat(limits.servedBytes / 2 - 1000) })
  const few = storedCopy(large, [1, 2, 3, 4])
  assert.equal(chunksFrom(few, few.newest, 0, Number.MAX_SAFE_INTEGER).length, 2)
})
