import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Frame, genesis } from '../../src/protocol/index.ts'
import { ChainEnd, ChainWalk, hashThrough, readChunk } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'
import { WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 1, 3])
const { frames } = readChunk(source.chunk(0, 3))
const start = { lamport: -1, hash: genesis('t', source.stream) }

test('the end of a chain has the same hash, whether frames are linked eagerly or lazily', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), (linked) => {
      let end = new ChainEnd(start.hash)
      for (const [i, frame] of frames.entries()) {
        end = end.after(frame)
        if (linked[i] === true) end.link()
      }
      assert.equal(end.hash, hashThrough(frames, start.hash))
    }),
  )
})

test('a chain walk reaches the count, lamport timestamp and hash of each head', () => {
  const walk = new ChainWalk(0, start)
  for (const [i, frame] of frames.entries()) {
    walk.add(frame)
    const { end, lamport, hash } = source.frames[i] ?? {}
    assert.deepEqual([walk.count, walk.lamport, walk.hash], [end, lamport, hash])
  }
})

test('a chain walk refuses a gap, and lamport timestamps that are not ascending', () => {
  const [first, second] = frames as [Frame, Frame]
  assert.throws(() => new ChainWalk(0, start).add(second), /there is a gap: 2 follows 0/)
  assert.throws(() => new ChainWalk(0, { ...start, lamport: 0 }).add(first), /not ascending at 0/)
  const level = { ...first, lamports: Float64Array.of(5, 5) }
  assert.throws(() => new ChainWalk(0, start).add(level), /not ascending at 0/)
})
