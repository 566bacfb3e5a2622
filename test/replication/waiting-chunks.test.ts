import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import type { Chunk } from '../../src/protocol/index.ts'
import { mayWait, readChunk } from '../../src/replication/index.ts'
import { withoutPayloads } from '../../src/replication/redaction.ts'
import { nextWaiting } from '../../src/replication/waiting-chunks.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 2, 2])

test('the number of waiting chunks per stream is bounded, and a chunk does not replace another one', () => {
  const chunk = readChunk(source.chunk(1, 2))
  const others = Array.from({ length: limits.waitingChunks }, (_, i) => 10 + i)
  assert.equal(mayWait(chunk, others.slice(1), []), true)
  assert.equal(mayWait(chunk, others, []), false)
  assert.equal(mayWait(chunk, [chunk.first], []), false)
})

test('a chunk with a redacted payload does not wait, one without it does', () => {
  const chunk = readChunk(source.chunk(1, 3))
  for (const offset of [2, 3, 4, 5]) {
    assert.equal(mayWait(chunk, [], [offset]), false)
    assert.equal(mayWait({ ...chunk, frames: withoutPayloads(chunk.frames, [offset]) }, [], [offset]), true)
  }
  assert.equal(mayWait(chunk, [], [0, 1, 6]), true)
})

test('of the waiting chunks that extend the stream, the next one is the one with the highest first offset', () => {
  const chunks = fc.array(
    fc
      .record({ first: fc.nat(20), size: fc.integer({ min: 1, max: 9 }) })
      .map(({ first, size }) => ({ first, head: { count: first + size } }) as Chunk),
  )
  fc.assert(
    fc.property(chunks, fc.nat(20), (list, count) => {
      const reached = list.filter(({ first }) => first <= count)
      const next = nextWaiting(reached, count)
      const useful = reached.filter(({ head }) => head.count > count)
      assert.equal(next === undefined, useful.length === 0)
      if (next !== undefined) assert.ok(useful.includes(next) && useful.every(({ first }) => first <= next.first))
    }),
  )
})

test('an invalid waiting chunk is dropped, and the later ones keep waiting', () => {
  const receiver = new PlainReceiver(source, contextOf())
  const other = new WrittenStream([2, 2, 2], { key: source.key, text: 'other' })
  receiver.receive(other.chunk(1, 2))
  receiver.receive(source.chunk(2, 3))
  assert.equal(receiver.receive(source.chunk(0, 1)), 'stored')
  assert.equal(receiver.position.count, 2)
  assert.deepEqual(
    receiver.waiting.map(({ first }) => first),
    [4],
  )
  assert.equal(receiver.receive(source.chunk(1, 2)), 'stored')
  assert.equal(receiver.position.count, 6)
})
