import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeChunk, MalformedBytes } from '../../src/protocol/index.ts'
import { readChunk } from '../../src/replication/index.ts'
import { withoutPayloads } from '../../src/replication/redaction.ts'
import { payloadsOf } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { PlainReceiver } from './plain-receiver.ts'
import { contextOf, WrittenStream } from './written-stream.ts'

/** The chunk as a relay can rewrite it: without some payloads, with the same chain. */
function stripped(chunk: Buffer, offsets: readonly number[]): Buffer {
  const { frames, signedHead } = readChunk(chunk)
  const records = withoutPayloads(frames, offsets).map(({ bytes, record }) => bytes.subarray(...record))
  return encodeChunk(records, signedHead)
}

const isStripped = (error: unknown): boolean =>
  error instanceof MalformedBytes && /a payload is missing without a redaction record/.test(error.message)

const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 })

test('a chunk is accepted exactly when each missing payload has a redaction record', () => {
  fc.assert(
    fc.property(sizes, fc.array(fc.nat(24)), fc.array(fc.nat(24)), (sizes, missing, recorded) => {
      const source = new WrittenStream(sizes)
      const receiver = new PlainReceiver(source, contextOf())
      receiver.redacted.push(...recorded)
      const chunk = stripped(source.chunk(0, sizes.length), missing)
      const unexplained = missing.filter((offset) => offset < source.count && !recorded.includes(offset))
      if (unexplained.length > 0) {
        assert.throws(() => receiver.receive(chunk), isStripped)
        assert.equal(receiver.position.count, 0)
        return
      }
      assert.equal(receiver.receive(chunk), 'stored')
      assert.deepEqual(
        receiver.stored.flatMap(payloadsOf),
        Array.from({ length: source.count }, (_, i) => (recorded.includes(i) ? null : `"x${i}"`)),
      )
    }),
  )
})

test('an early chunk without a payload is refused unless there is a redaction record', () => {
  const source = new WrittenStream([2, 2])
  const early = stripped(source.chunk(1, 2), [3])
  const receiver = new PlainReceiver(source, contextOf())
  assert.throws(() => receiver.receive(early, source.head(1)), isStripped)
  assert.deepEqual(receiver.waiting, [])
  receiver.redacted.push(3)
  assert.equal(receiver.receive(early, source.head(1)), 'waiting')
})

test('a chunk whose missing payloads are stored already is accepted: only new events are checked', () => {
  const source = new WrittenStream([2, 2])
  const receiver = new PlainReceiver(source, contextOf())
  receiver.receive(source.chunk(0, 1))
  assert.equal(receiver.receive(stripped(source.chunk(0, 2), [0])), 'stored')
  assert.deepEqual(receiver.stored.flatMap(payloadsOf), ['"x0"', '"x1"', '"x2"', '"x3"'])
})
