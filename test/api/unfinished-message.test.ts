import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { UnfinishedMessage } from '../../src/api/socket/unfinished-message.ts'
import { clientFrame, type Frame } from '../support/frames.ts'
import * as fc from '../support/property.ts'

const data = fc
  .oneof(fc.nat(3), fc.nat(200), fc.constantFrom(125, 126, 127, 65535, 65536))
  .map((length) => Buffer.alloc(length, 'x'))
const control = fc.record({
  opcode: fc.constantFrom(9, 10),
  fin: fc.constant(true),
  data: fc.nat(125).map((length) => Buffer.alloc(length, 'p')),
})

/** A message in fragments, with control frames between them. */
const message = fc
  .array(fc.record({ data, before: fc.array(control, { maxLength: 2 }) }), { minLength: 1, maxLength: 4 })
  .map((parts) =>
    parts.flatMap(({ data, before }, i): Frame[] => [
      ...before,
      { opcode: i === 0 ? 1 : 0, fin: i === parts.length - 1, data },
    ]),
  )
const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1 })

/** Splits bytes into chunks of these sizes, repeated. */
function* cut(bytes: Buffer, chunkSizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const chunk = bytes.subarray(at, at + (chunkSizes[i % chunkSizes.length] as number))
    at += chunk.length
    yield chunk
  }
}

test('the cost of an unfinished message covers its received bytes, and is zero once it is complete', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), sizes, (messages, chunkSizes) => {
      const unfinished = new UnfinishedMessage()
      for (const frame of messages.flat()) {
        const bytes = clientFrame(frame)
        const heads = bytes.length - frame.data.length
        const before = unfinished.cost
        let received = 0
        for (const chunk of cut(bytes, chunkSizes)) {
          received += chunk.length
          unfinished.add(chunk)
          if (frame.opcode >= 9) ok(unfinished.cost >= before)
          else if (received < bytes.length) ok(unfinished.cost >= Math.max(before, received - heads))
        }
        if (frame.opcode < 9 && frame.fin) equal(unfinished.cost, 0)
      }
    }),
  )
})

test('pings cost nothing', () => {
  const unfinished = new UnfinishedMessage()
  const ping = clientFrame({ opcode: 9, fin: true, data: Buffer.alloc(125) })
  for (let i = 0; i < 10_000; i++) {
    unfinished.add(ping.subarray(0, 50))
    unfinished.add(ping.subarray(50))
    equal(unfinished.cost, 0)
  }
})

test('chunks of one byte cost more than their size', () => {
  const unfinished = new UnfinishedMessage()
  const frame = clientFrame({ opcode: 1, fin: true, data: Buffer.alloc(1000, 'x') })
  for (const byte of frame.subarray(0, -1)) unfinished.add(Uint8Array.of(byte))
  ok(unfinished.cost > 100 * 1000)
  unfinished.add(frame.subarray(-1))
  equal(unfinished.cost, 0)
})
