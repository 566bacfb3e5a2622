import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genesis, heads } from '../../src/protocol/index.ts'
import { chainAt, hashAt, placeOf } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'
import { storedCopy } from './plain-stream.ts'
import { WrittenStream } from './written-stream.ts'

const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 })

/** The numbers of frames after which there is a checkpoint. */
const checkpointsOf = (bits: number, frames: number) =>
  Array.from({ length: frames }, (_, i) => i + 1).filter((frame) => (bits >> frame) % 2 === 1)

test('the chain hash is known at every frame border, wherever there are checkpoints, and nowhere else', () => {
  fc.assert(
    fc.property(sizes, fc.nat({ max: 511 }), (sizes, bits) => {
      const source = new WrittenStream(sizes)
      const stored = storedCopy(source, checkpointsOf(bits, sizes.length))
      const expected = new Map(source.frames.map(({ end, hash }) => [end, hash])).set(0, genesis('t', source.stream))
      for (let count = 0; count <= source.count + 2; count++)
        assert.equal(hashAt(stored, count), expected.get(count), `after ${count} events`)
    }),
  )
})

test('the walk to a position starts at the last checkpoint up to it', () => {
  const source = new WrittenStream([2, 2, 2, 2])
  const starts: number[] = []
  const stored = storedCopy(source, [1, 2])
  const watched = {
    ...stored,
    frames: (from: number, to: number) => {
      starts.push(from)
      return stored.frames(from, to)
    },
  }
  for (const count of [2, 4, 6, 8]) assert.equal(chainAt(watched, count)?.hash, source.frames[count / 2 - 1]?.hash)
  assert.deepEqual(starts, [2, 4, 4, 4])
})

test('before the pruned count hashes are not known, at it the checkpoint is', () => {
  const source = new WrittenStream([2, 2, 2])
  const stored = storedCopy(source, [2], 2)
  for (const count of [1, 2, 3]) assert.equal(hashAt(stored, count), 'pruned')
  assert.equal(hashAt(stored, 0), genesis('t', source.stream))
  assert.equal(hashAt(stored, 4), source.frames[1]?.hash)
  assert.equal(hashAt(stored, 5), undefined)
  assert.equal(hashAt(stored, 6), source.frames[2]?.hash)
})

test('a head lies on the chain, contradicts it, is ahead of it, or of pruned events', () => {
  fc.assert(
    fc.property(sizes, fc.nat({ max: 511 }), fc.nat(), (sizes, bits, seed) => {
      const source = new WrittenStream(sizes)
      const checkpoints = checkpointsOf(bits, sizes.length)
      const pruned = [0, ...checkpoints][seed % (checkpoints.length + 1)] as number
      const stored = storedCopy(source, checkpoints, pruned)
      const fork = new WrittenStream(sizes, { key: source.key, text: 'y' })
      for (let frames = 1; frames <= sizes.length; frames++) {
        const isPruned = frames < pruned
        assert.equal(placeOf(heads.verify(source.head(frames)), stored), isPruned ? 'pruned' : 'contained')
        assert.equal(placeOf(heads.verify(fork.head(frames)), stored), isPruned ? 'pruned' : 'contradicts')
      }
      const longer = new WrittenStream([...sizes, 1], { key: source.key })
      assert.equal(placeOf(heads.verify(longer.head(sizes.length + 1)), stored), 'ahead')
      assert.equal(placeOf(heads.verify(source.head(1)), undefined), 'ahead')
    }),
  )
})

test('a head within a frame contradicts the chain', () => {
  const source = new WrittenStream([3])
  const other = new WrittenStream([2], { key: source.key })
  assert.equal(placeOf(heads.verify(other.head(1)), storedCopy(source)), 'contradicts')
})

test('a head with the hash of the chain and another lamport timestamp is refused', () => {
  const source = new WrittenStream([3])
  const head = heads.verify(source.head(1, { lamport: 77 }))
  assert.throws(() => placeOf(head, storedCopy(source)), { name: 'MalformedBytes', message: /contradicts its hash/ })
})

test('numbers that are no counts are refused', () => {
  for (const count of [-1, 1.5, Number.NaN])
    assert.throws(() => hashAt(storedCopy(new WrittenStream([3])), count), { code: 'ERR_INVALID_INPUT' })
})
