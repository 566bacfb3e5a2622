import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, MalformedBytes } from '../../src/protocol/index.ts'
import { decideChunk, readChunk, type WaitingChunk } from '../../src/replication/index.ts'
import { withoutPayloads } from '../../src/replication/redaction.ts'
import { hasRoom, mayKeepPayloads, nextWaiting } from '../../src/replication/waiting-chunks.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import * as fc from '../support/property.ts'
import { noStreams, PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 2, 2])

test('an early chunk waits only with the head before it; otherwise the answer says where the gap is', () => {
  const receiver = new PlainReceiver(source, contextOf())
  receiver.receive(source.chunk(0, 1))
  assert.equal(receiver.receive(source.chunk(2, 3)), 'gap')
  assert.deepEqual(receiver.waiting, [])
  assert.equal(receiver.receive(source.chunk(2, 3), source.head(2)), 'waiting')
  assert.equal(receiver.receive(source.chunk(2, 3), source.head(2)), 'waiting')
  assert.equal(receiver.waiting.length, 1)
  assert.equal(receiver.receive(source.chunk(1, 2)), 'stored')
  assert.equal(receiver.position.count, 6)
})

test('an early chunk of an unknown stream does not wait', () => {
  const decision = decideChunk(source.chunk(1, 2), { before: source.head(1) }, noStreams, contextOf())
  assert.ok(decision.is === 'answer')
  assert.deepEqual(decision.answer, { state: 'gap', count: 0 })
})

test('an early chunk is refused unless the head before it leads to its own head', () => {
  const other = new WrittenStream([2, 2, 2], { key: source.key, text: 'other' })
  const later = new WrittenStream([2, 2, 2], { key: source.key, lamport: 100 })
  const forged = Buffer.from(source.chunk(2, 3))
  forged.write('"y', forged.indexOf('"x'))
  const chunk = source.chunk(2, 3)
  const unsigned = source.head(2)
  unsigned[unsigned.length - 1] = (unsigned.at(-1) ?? 0) ^ 1
  const bad: readonly (readonly [Buffer, Buffer])[] = [
    [forged, source.head(2)],
    [chunk, other.head(2)],
    [chunk, later.head(2)],
    [chunk, source.head(1)],
    [chunk, source.head(3)],
    [chunk, source.head(2, { topic: 'u' })],
    [chunk, source.head(2, { stream: { ...source.stream, number: 1 } })],
    [chunk, source.head(2, { lamport: Number.MAX_SAFE_INTEGER })],
    [chunk, new WrittenStream([2, 2], { key: KeyPair.generate(systemRandom) }).head(2)],
    [chunk, unsigned],
    [chunk, Buffer.alloc(0)],
  ]
  for (const [bytes, before] of bad) {
    const receiver = new PlainReceiver(source, contextOf())
    receiver.receive(source.chunk(0, 1))
    assert.throws(() => receiver.receive(bytes, before), MalformedBytes)
    assert.deepEqual(receiver.waiting, [])
  }
})

test('waiting chunks have budgets of number and bytes, per stream and in all', () => {
  const nothing = { chunks: 0, bytes: 0 }
  const room = (stream = nothing, all = nothing) => ({ stream, all, at: () => undefined })
  const { waitingChunks, waitingChunksInAll, waitingBytesInAll } = limits
  assert.equal(hasRoom(room(), 100), true)
  assert.equal(hasRoom(room({ chunks: waitingChunks - 1, bytes: limits.waitingBytes - 100 }), 100), true)
  assert.equal(hasRoom(room({ chunks: waitingChunks, bytes: 0 }), 100), false)
  assert.equal(hasRoom(room({ chunks: 0, bytes: limits.waitingBytes - 99 }), 100), false)
  assert.equal(hasRoom(room(nothing, { chunks: waitingChunksInAll - 1, bytes: waitingBytesInAll - 100 }), 100), true)
  assert.equal(hasRoom(room(nothing, { chunks: waitingChunksInAll, bytes: 0 }), 100), false)
  assert.equal(hasRoom(room(nothing, { chunks: 0, bytes: waitingBytesInAll - 99 }), 100), false)
})

test('a longer chunk does not replace a waiting one that starts at the same offset', () => {
  const longer = new WrittenStream([2, 2, 2, 2])
  const receiver = new PlainReceiver(longer, contextOf())
  assert.equal(receiver.receive(longer.chunk(1, 3), longer.head(1)), 'waiting')
  assert.equal(receiver.receive(longer.chunk(1, 2), longer.head(1)), 'waiting')
  assert.equal(receiver.receive(longer.chunk(1, 4), longer.head(1)), 'gap')
  assert.equal(receiver.waiting.length, 1)
})

test('a chunk with a redacted payload does not wait, one without it does', () => {
  const chunk = readChunk(source.chunk(1, 3))
  for (const offset of [2, 3, 4, 5]) {
    assert.equal(mayKeepPayloads(chunk, [offset]), false)
    const stripped = withoutPayloads(chunk.frames, [offset])
    assert.equal(mayKeepPayloads({ ...chunk, frames: stripped }, [offset]), true)
    const receiver = new PlainReceiver(source, contextOf())
    receiver.redacted.push(offset)
    assert.equal(receiver.receive(source.chunk(1, 3), source.head(1)), 'gap')
    const records = stripped.map(({ bytes, record }) => bytes.subarray(...record))
    assert.equal(receiver.receive(encodeChunk(records, source.head(3)), source.head(1)), 'waiting')
  }
  assert.equal(mayKeepPayloads(chunk, [0, 1, 6]), true)
})

test('of the waiting chunks that extend the stream, the next one is the one with the highest first offset', () => {
  const chunks = fc.array(
    fc
      .record({ first: fc.nat(20), size: fc.integer({ min: 1, max: 9 }) })
      .map(({ first, size }) => ({ chunk: { first, head: { count: first + size } } }) as WaitingChunk),
  )
  fc.assert(
    fc.property(chunks, fc.nat(20), (list, count) => {
      const reached = list.filter(({ chunk }) => chunk.first <= count)
      const next = nextWaiting(reached, count)
      const useful = reached.filter(({ chunk }) => chunk.head.count > count)
      assert.equal(next === undefined, useful.length === 0)
      if (next !== undefined)
        assert.ok(useful.includes(next) && useful.every(({ chunk }) => chunk.first <= next.chunk.first))
    }),
  )
})
