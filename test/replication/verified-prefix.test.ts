import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { ByteReader, type Frame, readFrame } from '../../src/protocol/index.ts'
import { type ReadableCheckpoint, type ReadableStream, verifiedPrefix } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import * as fc from '../support/property.ts'
import { WrittenStream } from './written-stream.ts'

/** Frames of one to three events, each with a checkpoint after it or not. */
const shapes = fc.array(fc.record({ size: fc.integer({ min: 1, max: 3 }), ends: fc.boolean() }), {
  minLength: 1,
  maxLength: 12,
})

interface Stored {
  readonly written: WrittenStream
  readonly frames: Frame[]
  readonly checkpoints: ReadableCheckpoint[]
}

function stored(shape: readonly { size: number; ends: boolean }[], text = 'x'): Stored {
  const written = new WrittenStream(
    shape.map(({ size }) => size),
    { text },
  )
  const checkpoints: ReadableCheckpoint[] = []
  for (const [i, { ends }] of shape.entries())
    if (ends)
      checkpoints.push({
        count: written.startOf(i + 1),
        before: checkpoints.at(-1)?.count ?? 0,
        head: written.head(i + 1, { checkpoint: true }),
      })
  return { written, frames: written.frames.map(({ record }) => readFrame(new ByteReader(record))), checkpoints }
}

function readable({ written, frames, checkpoints }: Stored, changed: Partial<ReadableStream> = {}): ReadableStream {
  return { topic: 't', key: written.stream, pruned: 0, frames, checkpoints, ...changed }
}

function endOf(stream: ReadableStream): number {
  return verifiedPrefix(stream)?.head.count ?? 0
}

/** The last checkpoint that is not after an offset. */
function lastUpTo(checkpoints: readonly ReadableCheckpoint[], offset: number): number {
  return checkpoints.findLast(({ count }) => count <= offset)?.count ?? 0
}

test('an intact stream is verified up to its last checkpoint', () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const all = stored(shape)
      assert.equal(endOf(readable(all)), all.checkpoints.at(-1)?.count ?? 0)
    }),
    { numRuns: 30 },
  )
})

test('a stream with a missing frame is verified up to the last checkpoint before it', () => {
  fc.assert(
    fc.property(shapes, fc.nat(), (shape, pick) => {
      const all = stored(shape)
      const missing = pick % all.frames.length
      const frames = all.frames.filter((_, i) => i !== missing)
      const expected = lastUpTo(all.checkpoints, all.written.startOf(missing))
      assert.equal(endOf(readable(all, { frames })), expected)
    }),
    { numRuns: 30 },
  )
})

test('a stream with a missing or damaged checkpoint is verified up to the one before it', () => {
  fc.assert(
    fc.property(shapes, fc.nat(), fc.boolean(), (shape, pick, isMissing) => {
      const all = stored(shape)
      const at = all.checkpoints[pick % Math.max(1, all.checkpoints.length)]
      fc.pre(at !== undefined)
      const others = all.checkpoints.filter((checkpoint) => checkpoint !== at)
      const head = Buffer.from(at.head)
      head[pick % head.length] = (head[pick % head.length] as number) ^ 1
      const checkpoints = isMissing ? others : [...others, { ...at, head }]
      assert.equal(endOf(readable(all, { checkpoints })), at.before)
    }),
    { numRuns: 30 },
  )
})

test('a pruned stream is verified from the checkpoint where it was pruned', () => {
  const all = stored([2, 3, 1, 2].map((size) => ({ size, ends: true })))
  const pruned = 5
  const rest = { pruned, frames: all.frames.slice(2), checkpoints: all.checkpoints.slice(1) }
  assert.equal(endOf(readable(all, rest)), 8)
  assert.equal(endOf(readable(all, { ...rest, frames: [] })), pruned)
  assert.equal(endOf(readable(all, { ...rest, frames: all.frames.slice(3) })), pruned)
  assert.equal(verifiedPrefix(readable(all, { ...rest, checkpoints: all.checkpoints.slice(2) })), undefined)
})

test('frames and checkpoints of another stream or topic are not accepted', () => {
  const all = stored([2, 3].map((size) => ({ size, ends: true })))
  const other = stored(
    [2, 3].map((size) => ({ size, ends: true })),
    'y',
  )
  assert.equal(endOf(readable(all, { frames: other.frames })), 0)
  assert.equal(endOf(readable(all, { checkpoints: other.checkpoints })), 0)
  assert.equal(endOf(readable(all, { topic: 'other' })), 0)
  const key = { node: KeyPair.generate(systemRandom).publicKey, number: 0 }
  assert.equal(endOf(readable(all, { key })), 0)
})

test('a head that is no checkpoint does not end a verified stream', () => {
  const all = stored([2, 3].map((size) => ({ size, ends: true })))
  const [first, second] = all.checkpoints as [ReadableCheckpoint, ReadableCheckpoint]
  const checkpoints = [first, { ...second, head: all.written.head(2, { checkpoint: false }) }]
  assert.equal(endOf(readable(all, { checkpoints })), 2)
})
