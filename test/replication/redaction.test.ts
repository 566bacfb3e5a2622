import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { genesis, MalformedBytes, redactionRecords } from '../../src/protocol/index.ts'
import {
  effectOfRedaction,
  hashThrough,
  type RecordOrigin,
  readChunk,
  signRedaction,
  startOfStream,
  type TopicContext,
  verifyRedaction,
  withoutPayloads,
} from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { payloadsOf } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { contextOf, now, WrittenStream } from './written-stream.ts'

const source = new WrittenStream([3, 1, 4])
const { frames } = readChunk(source.chunk(0, 3))
const refused = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_INVALID_INPUT'

test('only the payloads at the offsets are redacted, together or one by one, and the hash chain stays', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10)), (offsets) => {
      const kept = withoutPayloads(frames, offsets)
      assert.deepEqual(
        kept.flatMap(payloadsOf),
        frames.flatMap(payloadsOf).map((payload, i) => (offsets.includes(i) ? null : payload)),
      )
      assert.equal(hashThrough(kept, genesis('t', source.stream)), source.frames.at(-1)?.hash)
      const oneByOne = offsets.reduce((list, offset) => withoutPayloads(list, [offset]), frames)
      const recordsOf = (list: typeof frames) => list.map(({ bytes, record }) => bytes.toString('hex', ...record))
      assert.deepEqual(recordsOf(oneByOne), recordsOf(kept))
    }),
  )
})

test('a frame without a redacted payload is the same object', () => {
  const kept = withoutPayloads(frames, [3])
  assert.deepEqual(
    kept.map((frame, i) => frame === frames[i]),
    [true, false, true],
  )
  assert.equal(withoutPayloads(kept, [3])[1], kept[1])
  assert.equal(withoutPayloads(frames, []), frames)
})

test('a redaction record has no effect on a pruned event, and waits for an event that was not received', () => {
  const position = Object.assign(startOfStream('t', 'live', source.stream, false), { count: 6, pruned: 2 })
  const effectOf = (offset: number, origin: RecordOrigin, context: TopicContext) =>
    effectOfRedaction(
      { topic: 't', stream: source.stream, offset, time: now },
      position,
      (offset) => offset === 4 || offset === 7,
      context,
      origin,
    )
  const offsets = [1, 2, 4, 5, 6, 7]
  const effectsOf = (origin: RecordOrigin, context: TopicContext) =>
    offsets.map((offset) => effectOf(offset, origin, context))
  assert.deepEqual(effectsOf('received', contextOf()), ['none', 'remove', 'none', 'remove', 'expect', 'none'])
  // Only a local decision redacts own events.
  const own = contextOf(source.key)
  assert.deepEqual(effectsOf('received', own), ['none', 'hold', 'none', 'hold', 'hold', 'none'])
  assert.deepEqual(effectsOf('local', own).slice(0, 4), ['none', 'remove', 'none', 'remove'])
})

test('a redaction of an event that does not exist is not signed', () => {
  const own = contextOf(source.key)
  const position = Object.assign(startOfStream('t', 'live', source.stream, true), { count: 6 })
  assert.throws(() => signRedaction(0, 6, position, own), refused)
  assert.throws(() => signRedaction(0, 0, undefined, own), refused)
  const record = { topic: 't', stream: source.stream, offset: 5, time: now }
  assert.deepEqual(verifyRedaction(signRedaction(0, 5, position, own), contextOf()), record)
})

test('a redaction record with a wrong signature, type or topic is refused', () => {
  const context = contextOf()
  const record = { topic: 't', stream: source.stream, offset: 5, time: now }
  const signed = redactionRecords.sign(record, source.key)
  assert.throws(() => verifyRedaction(signed, { ...context, topic: 'u' }), refused)
  assert.throws(() => verifyRedaction(source.head(1), context), MalformedBytes)
  assert.throws(
    () => verifyRedaction(redactionRecords.sign(record, KeyPair.generate(systemRandom)), context),
    MalformedBytes,
  )
})
