import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import {
  ByteReader,
  ByteWriter,
  checkFrame,
  decodeChunk,
  decodeLabels,
  FrameBuilder,
  genesis,
  type Hash,
  hashAfter,
  heads,
  MalformedBytes,
  readFrame,
  withoutPayload,
} from '../../src/protocol/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { frameOf, payloadsOf } from '../support/events.ts'
import * as fc from '../support/property.ts'
import { type NaiveEvent, naiveFrame, uvarint } from './naive.ts'

const numbers = fc.oneof(fc.nat(300), fc.maxSafeNat())
const tags = fc.uniqueArray(
  fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).map((tag) => tag.normalize('NFC')),
  { maxLength: 5 },
)
const payloads = fc.jsonValue().map((value) => JSON.stringify(value))
const frames: fc.Arbitrary<NaiveEvent[]> = fc
  .array(fc.record({ time: numbers, appId: fc.constantFrom('com.example.a', 'x'), tags, payload: payloads }), {
    minLength: 1,
    maxLength: 20,
  })
  .chain((events) =>
    fc.maxSafeNat().map((start) => events.map((event, i) => ({ ...event, lamport: Math.floor(start / 2) + i * 3 }))),
  )
const seeds = fc.uint8Array({ minLength: 16, maxLength: 16 })
const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 })
const offsets = fc.nat(2 ** 31)

const asHash = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1') as Hash
const read = (record: Uint8Array) => checkFrame(new ByteReader(record))

test('a varint is LEB128, and signed and unsigned numbers round-trip', () => {
  fc.assert(
    fc.property(numbers, (value) => {
      assert.deepEqual(new ByteWriter().uvarint(value).copy(), uvarint(value))
      assert.equal(new ByteReader(uvarint(value)).uvarint(), value)
    }),
  )
  fc.assert(
    fc.property(fc.integer(), (value) =>
      assert.equal(new ByteReader(new ByteWriter().varint(value).copy()).varint(), value),
    ),
  )
})

test('a varint that is truncated, not in its shortest form, or beyond 53 bits is refused', () => {
  for (const bytes of [
    [0x80, 0x00],
    [0x81, 0x80, 0x00],
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    [0x80],
    [],
  ])
    assert.throws(() => new ByteReader(Buffer.from(bytes)).uvarint(), MalformedBytes, bytes.join())
})

test('a frame has the canonical encoding of the protocol and round-trips', () => {
  fc.assert(
    fc.property(hashes, offsets, frames, seeds, (previous, first, events, seed) => {
      const { record, hash } = frameOf(asHash(previous), first, events, seed)
      const naive = naiveFrame(previous, first, events, seed)
      assert.deepEqual(Buffer.from(record), naive.record)
      assert.equal(hash, asHash(naive.hash))
      const frame = read(record)
      assert.equal(hashAfter(frame, asHash(previous)), hash)
      assert.deepEqual(
        payloadsOf(frame),
        events.map(({ payload }) => payload),
      )
      assert.deepEqual(
        [...frame.lamports],
        events.map(({ lamport }) => lamport),
      )
      assert.deepEqual(
        [...frame.times],
        events.map(({ time }) => time),
      )
      const labels = events.map((_, i) =>
        decodeLabels(new ByteReader(frame.bytes, frame.labels[2 * i], frame.labels[2 * i + 1])),
      )
      assert.deepEqual(
        labels.map(({ tags }) => new Set(tags)),
        events.map(({ tags }) => new Set(tags)),
      )
    }),
  )
})

test('payloads are redacted in any order: the hash stays, payload, salt and seed are gone', () => {
  const removals = fc.array(fc.nat(19), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(hashes, frames, seeds, removals, (previous, events, seed, picks) => {
      const { record, hash } = frameOf(asHash(previous), 0, events, seed)
      let current: Uint8Array = Buffer.from(record)
      const removed = [...new Set(picks.map((pick) => pick % events.length))]
      for (const index of removed) current = withoutPayload(read(current), index)
      assert.deepEqual(Buffer.from(current), naiveFrame(previous, 0, events, seed, removed).record)
      assert.equal(hashAfter(read(current), asHash(previous)), hash)
      assert.equal(Buffer.from(current).indexOf(seed), -1)
    }),
  )
})

test('a flipped bit in a record is refused or changes the hash', () => {
  const flips = fc.record({ at: fc.nat(), bit: fc.nat(7) })
  fc.assert(
    fc.property(hashes, frames, seeds, flips, (previous, events, seed, { at, bit }) => {
      const { record, hash } = frameOf(asHash(previous), 0, events, seed)
      const flipped = Buffer.from(record)
      const place = at % flipped.length
      flipped[place] = (flipped[place] ?? 0) ^ (1 << bit)
      let other: Hash
      try {
        const reader = new ByteReader(flipped)
        other = hashAfter(checkFrame(reader), asHash(previous))
        reader.finish()
      } catch (error) {
        assert.ok(error instanceof MalformedBytes, String(error))
        return
      }
      assert.notEqual(other, hash)
    }),
    { numRuns: 2000 },
  )
})

test('arbitrary bytes are parsed or refused with MalformedBytes', () => {
  const { record } = frameOf(
    asHash(new Uint8Array(32)),
    0,
    [{ lamport: 1, time: 2, appId: 'a', tags: ['t'], payload: '1' }],
    new Uint8Array(16),
  )
  const cut = fc.nat(record.length).map((length) => Buffer.from(record).subarray(0, length))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), cut), (bytes) => {
      for (const parse of [
        () => read(bytes),
        () => readFrame(new ByteReader(bytes)),
        () => decodeChunk(bytes),
        () => heads.verify(bytes),
      ]) {
        try {
          parse()
        } catch (error) {
          assert.ok(error instanceof MalformedBytes, String(error))
        }
      }
    }),
    { numRuns: 2000 },
  )
})

test('an invalid frame is refused', () => {
  const event: NaiveEvent = { lamport: 5, time: 1, appId: 'a', tags: ['t'], payload: '1' }
  const refused = (events: NaiveEvent[], message: RegExp) =>
    assert.throws(
      () => read(naiveFrame(new Uint8Array(32), 0, events, new Uint8Array(16)).record),
      (error) => error instanceof MalformedBytes && message.test(error.message),
    )
  refused([event, event], /not ascending/)
  refused([{ ...event, appId: '' }], /app ID/)
  refused([{ ...event, tags: [''] }], /tag/)
  refused([{ ...event, tags: ['x'.repeat(1025)] }], /tag/)
  refused([{ ...event, tags: Array.from({ length: 129 }, (_, i) => `t${i}`) }], /too many tags/)
  refused([{ ...event, payload: '' }], /payload is missing/)
  refused([{ ...event, payload: '{' }], /invalid payload: EOF/)
  refused([{ ...event, payload: '[1,\n2]' }], /invalid payload: whitespace/)
  refused(
    [{ ...event, payload: '['.repeat(513) + ']'.repeat(513) }],
    /invalid payload: more than 512 levels of nesting/,
  )
  refused([], /1 to 1024/)
  refused(
    Array.from({ length: 1025 }, (_, i) => ({ ...event, lamport: i })),
    /1 to 1024/,
  )
})

test('frame builders share one buffer for large frames', () => {
  const source = Buffer.alloc(4_000_000, '1')
  const spans = Int32Array.of(0, 10, 10, source.length)
  const previous = genesis('t', { node: KeyPair.generate(systemRandom).publicKey, number: 0 })
  const record = new ByteWriter()
  const make = (): FrameBuilder => {
    const builder = new FrameBuilder()
    builder.add(0, 0, source, spans, 0)
    hashAfter(builder.finish(0, new Uint8Array(16), record.clear()), previous)
    return builder
  }
  const builders = [make()]
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  while (builders.length < 10) builders.push(make())
  collectGarbage()
  const grown = process.memoryUsage().arrayBuffers - before
  assert.ok(grown < source.length, `${builders.length} builders: ${grown} bytes more`)
})
