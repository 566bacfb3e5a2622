import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import type { PublicKey } from '../../../src/identity/index.ts'
import { ByteWriter, type Hash, MalformedBytes } from '../../../src/protocol/index.ts'
import { decodeMessage, encodeMessage } from '../../../src/swarm/index.ts'
import type { Message } from '../../../src/sync/index.ts'
import * as fc from '../../support/property.ts'
import { claimOf, closed, connectedTo, onlySent, rowOf } from '../../sync/support.ts'
import { recordedMessages } from './recorded-messages.ts'

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array))
const nodes = fc.array(bytes(32), { maxLength: 5 })
const stream = fc.record(
  { node: bytes(32).map((key) => Uint8Array.from(key) as PublicKey), number },
  { noNullPrototype: true },
)
const sized = fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array))
/** Some are long and repetitive, so that they are compressed. */
const chunk = fc
  .tuple(fc.uint8Array({ maxLength: 200 }), fc.nat({ max: 3000 }))
  .map(([array, zeros]) => Buffer.concat([array, Buffer.alloc(zeros)]))
const texts = fc.array(fc.string({ maxLength: 10 }), { maxLength: 3 })

/** Records with the usual prototype, as decoding returns them. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T, keyof T>(model, { noNullPrototype: true }) as fc.Arbitrary<T>

const messages: fc.Arbitrary<Message> = fc.oneof(
  record({
    is: fc.constant('hello' as const),
    version: number,
    features: texts,
    required: texts,
    time: number,
  }),
  record({ is: fc.constant('neighbours' as const), added: nodes, removed: nodes }),
  record({ is: fc.constant('digest' as const), digest: bytes(format.digestBytes), time: number }),
  record({ is: fc.constant('buckets' as const), digests: bytes(format.digestBuckets * format.digestBytes) }),
  record({
    is: fc.constant('heads' as const),
    entries: fc.array(
      fc.oneof(
        record({
          isFrozen: fc.constant(false as const),
          pruned: number,
          records: bytes(format.digestBytes),
          head: bytes(140),
        }),
        record({ isFrozen: fc.constant(true as const), stream }),
      ),
      { maxLength: 5 },
    ),
    answer: fc.array(fc.nat({ max: 255 }), { maxLength: 5 }),
  }),
  record({
    is: fc.constant('want' as const),
    id: number,
    stream,
    from: number,
    bytes: number,
  }),
  record({ is: fc.constant('chunk' as const), id: number, more: fc.boolean(), chunk }),
  record({ is: fc.constant('bulk-push' as const), chunk }),
  record({
    is: fc.constant('nothing' as const),
    id: number,
    reason: fc.constantFrom('notHere', 'notABorder', 'pruned'),
  }),
  record({ is: fc.constant('push' as const), chunk }),
  record({ is: fc.constant('want-records' as const), id: number, stream, from: number, to: number }),
  record({
    is: fc.constant('records' as const),
    id: number,
    stream,
    prune: fc.option(record({ record: sized, head: sized }), { nil: undefined }),
    redactions: fc.array(sized, { maxLength: 5 }),
    next: fc.option(fc.nat(), { nil: undefined }),
  }),
  record({ is: fc.constant('want-evidence' as const), id: number, stream }),
  record({ is: fc.constant('evidence' as const), id: number, record: sized }),
  record({
    is: fc.constant('locate' as const),
    id: number,
    stream,
    points: fc.array(record({ count: number, hash: bytes(32).map((hash) => hash.toString('latin1') as Hash) }), {
      maxLength: 5,
    }),
  }),
  record({ is: fc.constant('located' as const), id: number, count: number }),
  record({
    is: fc.constant('stored' as const),
    streams: fc.array(record({ number, count: number }), { maxLength: 5 }),
  }),
  record({ is: fc.constantFrom('ping' as const, 'pong' as const), id: number }),
  record({ is: fc.constant('want-own' as const) }),
  record({
    is: fc.constant('own-heads' as const),
    entries: fc.array(record({ isFrozen: fc.constant(true as const), stream }), { maxLength: 3 }),
  }),
  record({
    is: fc.constant('addresses' as const),
    nodes: fc.array(record({ node: bytes(32), addresses: texts }), { maxLength: 3 }),
  }),
)

test('a decoded message equals the encoded one, and fields of a later version are skipped', () => {
  fc.assert(
    fc.property(messages, fc.uint8Array({ maxLength: 20 }), (message, more) => {
      const encoded = encodeMessage(message)
      assert.deepEqual(decodeMessage(encoded), message)
      assert.deepEqual(decodeMessage(Buffer.concat([encoded, more])), message)
    }),
  )
})

test('any bytes are a message, an unknown optional one, or malformed', () => {
  const altered = fc.tuple(messages, fc.nat(), fc.nat({ max: 255 }), fc.nat()).map(([message, at, byte, end]) => {
    const encoded = Buffer.from(encodeMessage(message))
    encoded[at % encoded.length] = byte
    return encoded.subarray(0, (end % encoded.length) + 1)
  })
  fc.assert(
    fc.property(fc.oneof(altered, fc.uint8Array({ maxLength: 300 })), (input) => {
      try {
        decodeMessage(input)
      } catch (error) {
        assert.ok(error instanceof MalformedBytes, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

test('a message of an unknown kind is malformed below 128, and skipped from there on', () => {
  assert.throws(() => decodeMessage(Buffer.of(0)), MalformedBytes)
  assert.throws(() => decodeMessage(Buffer.of(127, 1, 2)), MalformedBytes)
  assert.equal(decodeMessage(Buffer.of(128, 1, 2)), undefined)
})

test('lengths are checked before memory is taken', () => {
  const neighbours = new ByteWriter().byte(2).uvarint(2 ** 40)
  assert.throws(() => decodeMessage(neighbours.written), /a list is too long/)
  const claimed = new ByteWriter().byte(5).uvarint(limits.headsPerMessage)
  assert.throws(() => decodeMessage(claimed.written), /a list is too long/)
  const large = new ByteWriter().byte(9).uvarint(format.chunkBytes + 1)
  assert.throws(() => decodeMessage(large.written), /a chunk is too large/)
  assert.throws(() => decodeMessage(Buffer.alloc(limits.syncMessageBytes + 1, 1)), /a message is too large/)
})

test('a compressed chunk is bounded by the size that it says, before it is decompressed', () => {
  const large = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
  const message = (size: number): Buffer =>
    new ByteWriter().byte(7).uvarint(1).byte(0).byte(1).uvarint(size).uvarint(large.length).bytes(large).written
  assert.throws(() => decodeMessage(message(64 * 1024 * 1024)), /a chunk is too large/)
  const tooLittle = decodeMessage(message(1000))
  assert.ok(tooLittle?.is === 'chunk')
  assert.throws(() => tooLittle.chunk, MalformedBytes)
  const unknown = new ByteWriter().byte(7).uvarint(1).byte(0).byte(2).uvarint(1).uvarint(1).byte(0)
  assert.throws(() => decodeMessage(unknown.written), MalformedBytes)
})

test('a chunk that was not asked for is not decompressed', () => {
  const sync = connectedTo('a')
  const { id } = onlySent(sync.received('a', claimOf(rowOf(1, 5)), 0), 'want').message
  const damaged = (asked: number): Message =>
    decodeMessage(
      new ByteWriter().byte(7).uvarint(asked).byte(0).byte(1).uvarint(99).uvarint(1).byte(0).written,
    ) as Message
  assert.deepEqual(sync.received('a', damaged(id + 1), 0), [])
  assert.deepEqual(closed(sync.received('a', damaged(id), 0)), ['a: malformedMessage'])
})

const recorded = JSON.parse(
  /```json\n(\{\n {2}"hello": [^`]*)```/.exec(
    readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8'),
  )?.[1] ?? '{}',
) as Record<string, string>

test('the recorded bytes of every kind of message are read and written as ever', () => {
  assert.deepEqual(Object.keys(recorded), [...Object.keys(recordedMessages), 'compressed chunk'])
  for (const [name, message] of Object.entries(recordedMessages)) {
    assert.equal(encodeMessage(message).toString('hex'), recorded[name], name)
    assert.deepEqual(decodeMessage(Buffer.from(recorded[name] as string, 'hex')), message, name)
  }
  // What a compressor writes may change, but all of it stays readable.
  const compressed = Buffer.from(recorded['compressed chunk'] as string, 'hex')
  assert.deepEqual(decodeMessage(compressed), { is: 'chunk', id: 6, more: false, chunk: Buffer.alloc(2000, 'shoal ') })
})
