import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endFrame, type Frame, FrameReader, lengthPrefix } from '../../../src/swarm/host/frames.ts'
import { SendQueue } from '../../../src/swarm/host/send-queue.ts'
import { collectGarbage } from '../../support/collect-garbage.ts'
import * as fc from '../../support/property.ts'

function framesOf(reader: FrameReader): Frame[] {
  const frames: Frame[] = []
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame)
  return frames
}

const messages = fc.array(fc.uint8Array({ minLength: 1, maxLength: 700 }), { maxLength: 20 })

test('messages that are queued, sliced and cut anywhere on the way arrive as they were sent', () => {
  fc.assert(
    fc.property(messages, fc.integer({ min: 1, max: 900 }), fc.integer({ min: 1, max: 300 }), (sent, slice, cut) => {
      const queue = new SendQueue()
      for (const message of sent) queue.push(message)
      queue.pushFrame(endFrame(7))
      const reader = new FrameReader(700)
      const frames: Frame[] = []
      const completed: number[] = []
      while (queue.bytes > 0) {
        const taken = queue.take(slice)
        assert.ok(taken.bytes.length <= slice)
        completed.push(...taken.completed)
        for (let at = 0; at < taken.bytes.length; at += cut) {
          reader.push(taken.bytes.subarray(at, at + cut))
          frames.push(...framesOf(reader))
        }
      }
      const expected = sent.map((bytes) => ({ is: 'message', bytes: Buffer.from(bytes) }))
      assert.deepEqual(frames, [...expected, { is: 'end', code: 7 }])
      assert.deepEqual(
        completed,
        sent.map(({ length }) => length),
      )
      assert.equal(reader.isWithinFrame, false)
      assert.equal(queue.isAtBorder, true)
    }),
  )
})

test('a queue is at a border exactly when the bytes taken so far end with a frame', () => {
  fc.assert(
    fc.property(messages, fc.integer({ min: 1, max: 900 }), (sent, slice) => {
      const queue = new SendQueue()
      for (const message of sent) queue.push(message)
      const borders = new Set([0])
      let end = 0
      for (const { length } of sent) {
        end += lengthPrefix(length).length + length
        borders.add(end)
      }
      let taken = 0
      while (queue.bytes > 0) {
        taken += queue.take(slice).bytes.length
        assert.equal(queue.isAtBorder, borders.has(taken))
      }
    }),
  )
})

test('a long queue is taken in linear time and keeps its bytes', () => {
  const queue = new SendQueue()
  for (let i = 0; i < 50_000; i++) queue.push(Buffer.of(i % 256))
  let taken = 0
  while (queue.bytes > 0) taken += queue.take(17).bytes.length
  assert.equal(taken, 100_000)
})

test('a length above the limit is refused before its bytes arrive', () => {
  for (const length of [701, 2 ** 20, 2 ** 28 - 1]) {
    const reader = new FrameReader(700)
    reader.push(lengthPrefix(length))
    assert.throws(() => reader.next(), /700 are allowed/)
  }
  const endless = new FrameReader(2 ** 28 - 1)
  endless.push(Buffer.of(0x80, 0x80, 0x80, 0x80, 0x01))
  assert.throws(() => endless.next(), /more than 28 bits/)
})

test('a length that is not in its shortest form is refused', () => {
  const reader = new FrameReader(700)
  reader.push(Buffer.of(0x81, 0x00))
  assert.throws(() => reader.next(), /shortest form/)
})

test('a claimed length takes no memory before its bytes arrive', () => {
  const reader = new FrameReader(2 ** 28 - 1)
  reader.push(lengthPrefix(2 ** 27))
  reader.push(Buffer.alloc(10))
  const before = process.memoryUsage().arrayBuffers
  assert.equal(reader.next(), undefined)
  assert.ok(process.memoryUsage().arrayBuffers - before < 1024 * 1024)
  assert.equal(reader.heldBytes, 4096)
  assert.equal(reader.isWithinFrame, true)
})

test('an incomplete message takes little more memory than the bytes that have arrived', () => {
  const length = 2 ** 20
  const cuts = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(cuts, (sizes) => {
      const reader = new FrameReader(length)
      const sent = Buffer.alloc(length, 'message')
      reader.push(lengthPrefix(length))
      let arrived = 0
      for (let i = 0; arrived < length; i++) {
        const piece = sent.subarray(arrived, arrived + (sizes[i % sizes.length] ?? 1))
        arrived += piece.length
        reader.push(piece)
        const frame = reader.next()
        if (arrived === length) assert.ok(frame?.is === 'message' && frame.bytes.equals(sent))
        else {
          assert.equal(frame, undefined)
          assert.ok(reader.heldBytes <= Math.min(length, 4096 + 2 * arrived, arrived + 65_536), `${reader.heldBytes}`)
        }
      }
      assert.deepEqual([reader.heldBytes, reader.isWithinFrame], [0, false])
    }),
    { numRuns: 20 },
  )
})

test('a message that arrives byte by byte takes no more memory than one in large pieces', () => {
  const reader = new FrameReader(2 ** 28 - 1)
  reader.push(lengthPrefix(2 ** 27))
  const before = process.memoryUsage()
  for (let i = 0; i < 300_000; i++) {
    reader.push(Buffer.of(1))
    assert.equal(reader.next(), undefined)
  }
  assert.ok(reader.heldBytes <= 300_000 + 65_536)
  collectGarbage()
  const after = process.memoryUsage()
  assert.ok(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers < 4 * 1024 * 1024)
})

test('a message does not share memory with the bytes that it arrived in', () => {
  const reader = new FrameReader(700)
  const arrived = Buffer.of(3, 1, 2, 3)
  reader.push(arrived)
  const frame = reader.next()
  arrived.fill(0)
  assert.deepEqual(frame, { is: 'message', bytes: Buffer.of(1, 2, 3) })
})
