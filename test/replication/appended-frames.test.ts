import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { encodeChunk, genesis } from '../../src/protocol/index.ts'
import { FrameCollector } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

/** Adds a frame of a stream to the current commit. */
function add(collector: FrameCollector, source: WrittenStream, frame: number, checkpoint = false): void {
  const { record, end } = source.frames[frame] as WrittenStream['frames'][number]
  const before = source.frames[frame - 1]?.hash ?? genesis('t', source.stream)
  collector.add(source.stream, { first: source.startOf(frame), before, count: end }, record)
  if (checkpoint) collector.endChunk(source.stream, source.head(frame + 1, { checkpoint }))
}

const notSigned = () => assert.fail('nothing is signed')

test('what commits have added can be received piece by piece, however commits, checkpoints and takes follow', () => {
  const step = fc.record({
    size: fc.integer({ min: 1, max: 3 }),
    checkpoint: fc.boolean(),
    end: fc.constantFrom('same commit', 'commit', 'commit and take', 'fail'),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const source = new WrittenStream(steps.map(({ size }) => size))
      const collector = new FrameCollector(() => 0)
      const receiver = new PlainReceiver(source, contextOf())
      let [next, committed] = [0, 0]
      // The numbers of frames at the last checkpoint that is on disk, and at that of the current commit.
      const checkpoints: [number, number] = [0, 0]
      const take = (): void => {
        for (const { first, before, records, count, head } of collector.take(() => source.head(committed))) {
          assert.deepEqual([first, before], [receiver.position.count, receiver.position.chain.hash])
          assert.equal(receiver.receive(encodeChunk(records as Uint8Array[], head)), 'stored')
          assert.equal(receiver.position.count, count)
        }
        assert.equal(receiver.position.count, source.startOf(committed))
      }
      for (const { checkpoint, end } of steps) {
        add(collector, source, next++, checkpoint)
        if (checkpoint) checkpoints[1] = next
        if (end === 'fail') {
          collector.rollback()
          next = committed
          checkpoints[1] = checkpoints[0]
        } else if (end !== 'same commit') {
          collector.commit()
          committed = next
          checkpoints[0] = checkpoints[1]
          if (end === 'commit and take') take()
        }
      }
      take()
      assert.equal(receiver.position.checkpoint, source.startOf(checkpoints[0]))
    }),
  )
})

test('the streams of a commit are separate', () => {
  const [one, two] = [new WrittenStream([1, 2]), new WrittenStream([3, 1])]
  const collector = new FrameCollector(() => 0)
  for (const [source, frame] of [
    [one, 0],
    [two, 0],
    [one, 1],
    [two, 1],
  ] as const)
    add(collector, source, frame)
  collector.commit()
  const pieces = collector.take((stream) => (stream === one.stream ? one : two).head(2))
  assert.deepEqual(
    pieces.map(({ stream, first, count, records }) => [stream, first, count, records?.length]),
    [
      [one.stream, 0, 3, 2],
      [two.stream, 0, 4, 2],
    ],
  )
  assert.deepEqual(collector.take(notSigned), [])
})

test('records are copied, so that the writer can reuse its memory', () => {
  const source = new WrittenStream([1])
  const record = Buffer.from(source.frames[0]?.record ?? [])
  const collector = new FrameCollector(() => 0)
  collector.add(source.stream, { first: 0, before: genesis('t', source.stream), count: 1 }, record)
  const expected = Uint8Array.from(record)
  record.fill(0)
  collector.commit()
  assert.deepEqual(collector.take(() => source.head(1))[0]?.records, [expected])
})

test('beyond the limit of unread bytes the rest of a stream is announced by its head only', () => {
  const text = 'x'.repeat(limits.unreadFrameBytes / 2 - 1000)
  const [large, small] = [new WrittenStream([1, 1, 1, 1], { text }), new WrittenStream([1])]
  const collector = new FrameCollector(() => 0)
  for (const frame of [0, 1, 2, 3]) add(collector, large, frame, true)
  add(collector, small, 0)
  collector.commit()
  const pieces = collector.take(() => small.head(1))
  assert.deepEqual(
    pieces.map(({ first, count, records }) => [first, count, records?.length]),
    [
      [0, 1, 1],
      [1, 2, 1],
      [2, 4, undefined],
      [0, 1, 1],
    ],
  )
  assert.deepEqual(pieces[2]?.head, Uint8Array.from(large.head(4, { checkpoint: true })))
})

test('what the listeners have not got yet counts as unread', () => {
  const source = new WrittenStream([1, 1])
  let unread = limits.unreadFrameBytes
  const collector = new FrameCollector(() => unread)
  add(collector, source, 0)
  collector.commit()
  assert.deepEqual(
    collector.take(() => source.head(1)).map(({ count, records }) => [count, records]),
    [[1, undefined]],
  )
  unread = 0
  add(collector, source, 1)
  collector.commit()
  assert.deepEqual(
    collector.take(() => source.head(2)).map(({ first, count, records }) => [first, count, records?.length]),
    [[1, 2, 1]],
  )
})

test('frames that do not lead to the newest head are left out, and it is announced', () => {
  const source = new WrittenStream([1, 1])
  const collector = new FrameCollector(() => 0)
  add(collector, source, 0)
  collector.commit()
  assert.deepEqual(
    collector.take(() => source.head(2)).map(({ first, count, records }) => [first, count, records]),
    [[0, 2, undefined]],
  )
})

test('events whose head cannot be signed are not announced', () => {
  const source = new WrittenStream([1, 1])
  const collector = new FrameCollector(() => 0)
  for (const frame of [0, 1]) add(collector, source, frame, frame === 0)
  collector.commit()
  const pieces = collector.take(() => {
    throw new Error('the clock is wrong')
  })
  assert.deepEqual(
    pieces.map(({ first, count }) => [first, count]),
    [[0, 1]],
  )
})
