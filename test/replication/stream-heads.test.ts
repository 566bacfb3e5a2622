import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { heads } from '../../src/protocol/index.ts'
import {
  ChainEnd,
  endChunk,
  endOfChunk,
  isChunkFull,
  newestHead,
  type StreamPosition,
  startOfStream,
} from '../../src/replication/index.ts'
import { grow } from '../../src/replication/stream-position.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 2])

function grown(own: boolean, { count = 2, bytes = 10 } = {}): StreamPosition {
  const position = startOfStream('t', 'live', source.stream, own)
  const { lamport = 0, hash = position.chain.hash } = source.frames[0] ?? {}
  grow(position, { count, lamport, chain: new ChainEnd(hash), bytes })
  return position
}

test('the head of an own stream is signed for its current position, and is a checkpoint if a chunk ends there', () => {
  const context = contextOf(source.key)
  const position = grown(true)
  const signed = () => newestHead(position, context, () => assert.fail()) as Uint8Array
  assert.deepEqual(heads.verify(signed()), heads.decode(source.head(1)))
  endChunk(position)
  assert.deepEqual(heads.verify(signed()), heads.decode(source.head(1, { checkpoint: true })))
})

test('the newest head of a stream of another node is the received one', () => {
  const received = source.head(1)
  assert.equal(
    newestHead(grown(false), contextOf(), () => received),
    received,
  )
})

test('an empty stream and streams of an imported topic have no head', () => {
  const empty = startOfStream('t', 'live', source.stream, true)
  assert.equal(
    newestHead(empty, contextOf(source.key), () => assert.fail()),
    undefined,
  )
  assert.equal(
    newestHead(grown(true), contextOf(source.key, 'imported'), () => assert.fail()),
    undefined,
  )
})

test('a chunk ends at the next checkpoint, else at the newest head, and is never empty', () => {
  const [checkpoint, newest] = [source.head(1, { checkpoint: true }), source.head(2)]
  assert.deepEqual(endOfChunk(0, checkpoint, newest), { count: 2, signedHead: checkpoint })
  assert.deepEqual(endOfChunk(2, undefined, newest), { count: 4, signedHead: newest })
  assert.equal(endOfChunk(4, undefined, newest), undefined)
  assert.equal(endOfChunk(0, undefined, undefined), undefined)
})

test('a chunk is full when its events or its bytes since the last checkpoint reach the limit', () => {
  const { eventsPerCheckpoint: events, bytesPerCheckpoint: bytes } = format
  assert.equal(isChunkFull(grown(true, { count: events - 1, bytes: bytes - 1 })), false)
  for (const full of [grown(true, { count: events }), grown(true, { bytes })]) {
    assert.equal(isChunkFull(full), true)
    endChunk(full)
    assert.equal(isChunkFull(full), false)
    assert.equal(full.checkpoint, full.count)
  }
})

test('appending events whose lamport timestamps do not ascend fails an assertion', () => {
  const position = grown(true)
  const { lamport, chain } = position
  assert.throws(() => grow(position, { count: 1, lamport, chain, bytes: 1 }), /lamport timestamps ascend/)
})
