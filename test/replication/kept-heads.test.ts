import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heads } from '../../src/protocol/index.ts'
import {
  ChainEnd,
  endChunk,
  growOwn,
  headRow,
  KeptHeads,
  recordsHash,
  type StreamPosition,
  startOfStream,
  type TopicContext,
} from '../../src/replication/index.ts'
import { contextOf, now, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([2, 3])

/** A context in which every signature has another time, so that signing again shows. */
function ticking(kind: TopicContext['kind'] = 'live'): TopicContext {
  let time = now
  return { ...contextOf(source.key, kind), now: () => time++ }
}

function grownTo(frames: number, own = true): StreamPosition {
  const position = startOfStream('t', 'live', source.stream, own)
  for (let i = 0; i < frames; i++) growBy(position, i)
  return position
}

function growBy(position: StreamPosition, frame: number): void {
  const { lamport = 0, hash = position.chain.hash, end = 0 } = source.frames[frame] ?? {}
  growOwn(position, { count: end - position.count, lamport, chain: new ChainEnd(hash), bytes: 10 })
}

const notReceived = () => assert.fail('own heads are signed')

test('the head of an own stream is signed once, until the stream grows or its end becomes a checkpoint', () => {
  const [kept, context, position] = [new KeptHeads(), ticking(), grownTo(1)]
  const newest = () => kept.newest(position, context, notReceived) as Uint8Array
  const first = newest()
  assert.equal(newest(), first)
  assert.equal(heads.verify(first).count, 2)
  growBy(position, 1)
  const second = newest()
  assert.equal(newest(), second)
  assert.deepEqual([heads.verify(second).count, heads.verify(second).checkpoint], [5, false])
  endChunk(position)
  assert.deepEqual([heads.verify(newest()).count, heads.verify(newest()).checkpoint], [5, true])
})

test('a position that was loaded again is signed again', () => {
  const [kept, context] = [new KeptHeads(), ticking()]
  const ahead = kept.newest(grownTo(2), context, notReceived) as Uint8Array
  const loaded = kept.newest(grownTo(1), context, notReceived) as Uint8Array
  assert.deepEqual([heads.verify(ahead).count, heads.verify(loaded).count], [5, 2])
})

test('a head that could not be signed is not kept', () => {
  const [kept, position] = [new KeptHeads(), grownTo(1)]
  const wrong = { ...ticking(), now: () => -1 }
  assert.throws(() => kept.newest(position, wrong, notReceived), { code: 'ERR_CLOCK' })
  assert.ok(kept.newest(position, ticking(), notReceived))
})

test('the head of another node is the received one, and empty or imported streams have none', () => {
  const [kept, received] = [new KeptHeads(), source.head(1)]
  assert.equal(
    kept.newest(grownTo(1, false), contextOf(), () => received),
    received,
  )
  assert.equal(kept.newest(grownTo(0), ticking(), notReceived), undefined)
  assert.equal(kept.newest(grownTo(1), ticking('imported'), notReceived), undefined)
})

const row = { number: 7, key: source.stream, own: false, pruned: 2, frozen: false, topic: 't', redacted: [3] }

test('a row of the head table says what the head says, and what was removed', () => {
  const head = source.head(2)
  const { lamport, hash } = source.frames[1] ?? {}
  const records = recordsHash('t', { key: source.stream, pruned: 2, count: 5 }, [{ first: 3, count: 1 }])
  const { topic, redacted, ...known } = row
  assert.deepEqual(headRow(row, head), { ...known, count: 5, lamport, hash, records, head })
})

test('a stream without a head has a row only if it is frozen', () => {
  assert.equal(headRow(row, undefined), undefined)
  const frozen = headRow({ ...row, frozen: true }, undefined)
  assert.deepEqual([frozen?.count, frozen?.frozen, frozen?.head], [0, true, undefined])
})
