import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import type { PublicKey } from '../../src/identity/index.ts'
import { ByteWriter, MalformedBytes } from '../../src/protocol/index.ts'
import { decodeMessage, encodeMessage, type Message } from '../../src/sync/index.ts'
import * as fc from '../support/property.ts'

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array))
const nodes = fc.array(bytes(32), { maxLength: 5 })
const chunk = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array))
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
  record({ is: fc.constant('digest' as const), digest: bytes(format.digestBytes) }),
  record({ is: fc.constant('buckets' as const), digests: bytes(format.digestBuckets * format.digestBytes) }),
  record({
    is: fc.constant('heads' as const),
    entries: fc.array(record({ pruned: number, head: bytes(140) }), { maxLength: 5 }),
    answer: fc.array(fc.nat({ max: 255 }), { maxLength: 5 }),
  }),
  record({
    is: fc.constant('want' as const),
    id: number,
    stream: record({ node: bytes(32).map((key) => Uint8Array.from(key) as PublicKey), number }),
    from: number,
  }),
  record({ is: fc.constant('chunk' as const), id: number, chunk }),
  record({ is: fc.constant('nothing' as const), id: number }),
  record({ is: fc.constant('push' as const), chunk }),
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
