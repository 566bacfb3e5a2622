import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { genesis, MalformedBytes, type RedactionRecord, rangesOf, redactionRecords } from '../../src/protocol/index.ts'
import {
  effectOfRedaction,
  hashThrough,
  type RedactableStream,
  readChunk,
  signRedaction,
  startOfStream,
  verifyRedactions,
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

const position = Object.assign(startOfStream('t', 'live', source.stream, false), { count: 6, pruned: 2 })

/** A stream whose events 4 and 7 are redacted. */
function known(expected = { records: 1, offsets: 1 }): RedactableStream {
  return {
    position,
    redactedBetween: (from, to) => [4, 7].filter((offset) => offset >= from && offset < to),
    expected: () => expected,
  }
}

function recordOf(...offsets: number[]): RedactionRecord {
  return { topic: 't', stream: source.stream, ranges: rangesOf(offsets), time: now }
}

test('a redaction record removes what is stored and not redacted, and waits for events that were not received', () => {
  const effectOf = (...offsets: number[]) => effectOfRedaction(recordOf(...offsets), known(), contextOf(), 'received')
  for (const offsets of [[0], [1], [0, 1], [4], [1, 4, 7], [7]]) assert.deepEqual(effectOf(...offsets), { is: 'none' })
  assert.deepEqual(effectOf(2), { is: 'redact', remove: [2], expect: [] })
  assert.deepEqual(effectOf(6), { is: 'redact', remove: [], expect: [6] })
  assert.deepEqual(effectOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 20), { is: 'redact', remove: [2, 3, 5], expect: [6, 8, 20] })
  assert.deepEqual(effectOfRedaction(recordOf(0, 3), undefined, contextOf(), 'received'), {
    is: 'redact',
    remove: [],
    expect: [0, 3],
  })
})

test('only a local decision redacts own events', () => {
  const own = contextOf(source.key)
  for (const offset of [2, 5, 6]) {
    assert.deepEqual(effectOfRedaction(recordOf(offset), known(), own, 'received'), { is: 'hold' })
    assert.deepEqual(effectOfRedaction(recordOf(offset), undefined, own, 'received'), { is: 'hold' })
  }
  for (const offset of [1, 4])
    assert.deepEqual(effectOfRedaction(recordOf(offset), known(), own, 'received').is, 'none')
  assert.deepEqual(effectOfRedaction(recordOf(2), known(), own, 'local'), { is: 'redact', remove: [2], expect: [] })
})

test('redactions of events that were not received are bounded in records and in events', () => {
  const { expectedRedactions: records, expectedRedactedEvents: offsets } = limits
  const effectOf = (expected: { records: number; offsets: number }, ...of: number[]) =>
    effectOfRedaction(recordOf(...of), known(expected), contextOf(), 'received').is
  const far = 6 + format.eventsPerChunk
  assert.equal(effectOf({ records: records - 1, offsets: offsets - 2 }, 6, far), 'redact')
  assert.equal(effectOf({ records, offsets: 0 }, far), 'full')
  // What is here is removed, whatever waits. The same for the next chunk, which comes after its records.
  assert.equal(effectOf({ records, offsets }, 2, 7), 'redact')
  assert.equal(effectOf({ records, offsets }, 2, 6, far - 1), 'redact')
  assert.equal(effectOf({ records, offsets }, far, far + 1), 'full')
  assert.deepEqual(effectOfRedaction(recordOf(2, 6, far), known({ records, offsets }), contextOf(), 'received'), {
    is: 'redact',
    remove: [2],
    expect: [6],
  })
})

test('a redaction of no events, of too many, or of one that does not exist is not signed', () => {
  const own = contextOf(source.key)
  const long = Object.assign(startOfStream('t', 'live', source.stream, true), { count: 20_000 })
  const { offsetsPerRedaction, rangesPerRedaction } = format
  const alternating = (count: number) => Array.from({ length: count }, (_, i) => 2 * i)
  const run = (count: number) => Array.from({ length: count }, (_, i) => 100 + i)
  for (const offsets of [[], [20_000], [0, 20_000], [-1], [0.5], [Number.NaN], run(offsetsPerRedaction + 1)])
    assert.throws(() => signRedaction(0, offsets, long, own), refused)
  assert.throws(() => signRedaction(0, alternating(rangesPerRedaction + 1), long, own), refused)
  assert.throws(() => signRedaction(0, [0], undefined, own), refused)
  for (const offsets of [run(offsetsPerRedaction), alternating(rangesPerRedaction), [5, 3, 4, 3]]) {
    const [verified] = verifyRedactions([signRedaction(0, offsets, long, own)], contextOf())
    assert.deepEqual(verified?.record, recordOf(...offsets))
  }
})

test('redaction records with a wrong signature, type or topic are refused, and too many at once', () => {
  const context = contextOf()
  const signed = redactionRecords.sign(recordOf(5), source.key)
  assert.throws(() => verifyRedactions([signed], { ...context, topic: 'u' }), refused)
  assert.throws(() => verifyRedactions([signed, source.head(1)], context), MalformedBytes)
  const byAnother = redactionRecords.sign(recordOf(5), KeyPair.generate(systemRandom))
  assert.throws(() => verifyRedactions([byAnother], context), MalformedBytes)
  const many = new Array<Uint8Array>(limits.redactionsPerCall).fill(signed)
  assert.equal(verifyRedactions(many, context).length, limits.redactionsPerCall)
  assert.throws(() => verifyRedactions([...many, signed], context), refused)
})
