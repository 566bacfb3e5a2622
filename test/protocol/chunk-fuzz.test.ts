import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import {
  ByteReader,
  ByteWriter,
  type Chunk,
  checkFrame,
  decodeChunk,
  decodeLabels,
  encodeChunk,
  encodeLabelsExactly,
  type Frame,
  genesis,
  type Hash,
  heads,
  MalformedBytes,
  withoutPayload,
} from '../../src/protocol/index.ts'
import { readChunk } from '../../src/replication/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { frameOf } from '../support/events.ts'
import { anyByteMutation, mutatedBytes } from '../support/mutations.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'

const key = KeyPair.generate(systemRandom)
const stream = { node: key.publicKey, number: 3 }

/** The record of a frame, encoded again from its decoded parts. */
function encodedAgain({ bytes, first, count, lamports, times, labels, payloads, seed, secretsAt }: Frame): Buffer {
  const head = new ByteWriter().uvarint(first).uvarint(count)
  for (let i = 0; i < count; i++) {
    const decoded = decodeLabels(new ByteReader(bytes, labels[2 * i], labels[2 * i + 1]))
    head
      .uvarint(lamports[i] as number)
      .uvarint(times[i] as number)
      .bytes(encodeLabelsExactly(decoded))
  }
  const record = new ByteWriter()
    .uvarint(head.length)
    .bytes(head.written)
    .byte(seed === undefined ? 1 : 0)
  const texts = Array.from({ length: count }, (_, i) => {
    const start = payloads[2 * i] as number
    return start < 0 ? '' : bytes.toString('utf8', start, payloads[2 * i + 1])
  })
  if (seed !== undefined) record.bytes(seed)
  else
    for (const [i, text] of texts.entries()) {
      const at = secretsAt[i] as number
      record.byte(text === '' ? 0 : 1).bytes(bytes, at, at + (text === '' ? 32 : 16))
    }
  for (const text of texts) record.uvarint(Buffer.byteLength(text))
  for (const text of texts) record.bytes(Buffer.from(text))
  return record.copy()
}

function chunkAgain({ head, signedHead, frames }: Chunk): Buffer {
  return encodeChunk(frames.map(encodedAgain), Buffer.concat([heads.encode(head), signedHead.subarray(-64)]))
}

/** Whether bytes are decoded. Asserts that these are encoded to the same bytes again, and the others are malformed. */
function isDecoded(decode: (bytes: Uint8Array) => Chunk, bytes: Uint8Array): boolean {
  let chunk: Chunk
  try {
    chunk = decode(bytes)
  } catch (error) {
    assert.ok(error instanceof MalformedBytes, error instanceof Error ? error.stack : String(error))
    return false
  }
  assert.deepEqual(chunkAgain(chunk), Buffer.from(bytes))
  return true
}

const event = fc.record({
  time: fc.oneof(fc.nat(300), fc.constant(1_700_000_000_000_000)),
  appId: fc.constantFrom('com.example.a', 'x'),
  tags: fc.array(
    fc.oneof(
      fc.constantFrom('a', 'b', 'ab'),
      anyTagText.filter((tag) => tag !== ''),
    ),
    { maxLength: 4 },
  ),
  payload: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
})
const redactedFrame = fc.record({
  events: fc.array(event, { minLength: 1, maxLength: 5 }),
  redacted: fc.option(fc.nat(4)),
})

interface Written {
  readonly records: readonly Buffer[]
  readonly count: number
  readonly lamport: number
  readonly hash: Hash
}

/** Consecutive frames of a stream, some of them with a redacted payload. */
const written: fc.Arbitrary<Written> = fc.array(redactedFrame, { minLength: 1, maxLength: 4 }).map((frames) => {
  const records: Buffer[] = []
  let [count, lamport, hash] = [0, -1, genesis('t', stream)]
  for (const [i, { events, redacted }] of frames.entries()) {
    const numbered = events.map((event) => ({ ...event, lamport: ++lamport }))
    const made = frameOf(hash, count, numbered, Buffer.alloc(16, i))
    const record = Buffer.from(made.record)
    const frame = checkFrame(new ByteReader(record))
    records.push(redacted === null ? record : Buffer.from(withoutPayload(frame, redacted % events.length)))
    count += events.length
    hash = made.hash
  }
  return { records, count, lamport, hash }
})

const headOf = ({ count, lamport, hash }: Written) => ({
  topic: 't',
  stream,
  count,
  lamport,
  hash,
  checkpoint: true,
  time: 9,
})
const signedChunk = (source: Written): Buffer => encodeChunk(source.records, heads.sign(headOf(source), key))

/** Where the frames of a chunk begin: changes behind it leave the signature valid. */
const framesAt = ({ records }: Written, chunk: Buffer): number =>
  chunk.length - records.reduce((sum, record) => sum + record.length, 1)

const numbers = fc.oneof(fc.nat(300), fc.maxSafeNat()).map((value) => new ByteWriter().uvarint(value).copy())
const texts = fc
  .constantFrom('"', '\\', '[', ']', '{', '}', ',', ' ', '1', 'e', 'ü', '\0')
  .map((text) => Buffer.from(text))
const mutations = fc.array(anyByteMutation(fc.oneof(fc.uint8Array({ maxLength: 4 }), numbers, texts), 4), {
  minLength: 1,
  maxLength: 3,
})
const flips = fc.array(fc.record({ at: fc.nat(), bits: fc.integer({ min: 1, max: 255 }) }), {
  minLength: 1,
  maxLength: 2,
})

function flipped(bytes: Buffer, changes: readonly { at: number; bits: number }[], kept: number): Buffer {
  const result = Buffer.from(bytes)
  for (const { at, bits } of changes) {
    const place = kept + (at % (bytes.length - kept))
    result[place] = (result[place] as number) ^ bits
  }
  return result
}

test('a valid chunk is decoded, and encoded again to the same bytes', () => {
  fc.assert(
    fc.property(written, (source) => {
      const chunk = signedChunk(source)
      for (const decode of [decodeChunk, readChunk]) assert.ok(isDecoded(decode, chunk))
    }),
    { numRuns: 500 },
  )
})

test('a chunk with changed bytes is malformed, or encoded again to the same bytes', () => {
  fc.assert(
    fc.property(written, mutations, (source, changes) => {
      const chunk = signedChunk(source)
      const changed = mutatedBytes(chunk, changes)
      for (const decode of [decodeChunk, readChunk]) isDecoded(decode, changed)
    }),
    { numRuns: 1000 },
  )
})

test('a chunk with changed frames behind a signed head is malformed, or encoded again to the same bytes', () => {
  let decoded = 0
  fc.assert(
    fc.property(written, fc.oneof(mutations, flips), (source, changes) => {
      const chunk = signedChunk(source)
      const start = framesAt(source, chunk)
      const isFlip = (list: typeof changes): list is { at: number; bits: number }[] => 'bits' in (list[0] as object)
      const changed = isFlip(changes) ? flipped(chunk, changes, start) : mutatedBytes(chunk, changes, start)
      for (const decode of [decodeChunk, readChunk]) if (isDecoded(decode, changed)) decoded++
    }),
    { numRuns: 3000 },
  )
  assert.ok(decoded > 100, `only ${decoded} changed chunks were decoded`)
})

test('frames that are dropped, doubled, reordered or cut are malformed, or encoded again to the same bytes', () => {
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(written, picks, fc.nat(), (source, picks, cut) => {
      const { records } = source
      const picked = picks.map((pick) => records[pick % records.length] as Buffer)
      const chunk = encodeChunk(picked, heads.sign(headOf(source), key))
      for (const decode of [decodeChunk, readChunk]) {
        isDecoded(decode, chunk)
        assert.ok(!isDecoded(decode, chunk.subarray(0, cut % chunk.length)))
        assert.ok(!isDecoded(decode, Buffer.concat([chunk, Buffer.of(cut % 256)])))
      }
    }),
    { numRuns: 500 },
  )
})

test('a changed head that is signed again, by any key, is malformed, or encoded again to the same bytes', () => {
  fc.assert(
    fc.property(written, fc.oneof(mutations, fc.constant([])), flips, (source, changes, bits) => {
      const statement = heads.encode(headOf(source))
      const changed = mutatedBytes(flipped(statement, bits, 0), changes)
      for (const signature of [key.sign(changed), Buffer.alloc(64), Buffer.alloc(0)]) {
        const chunk = encodeChunk(source.records, Buffer.concat([changed, signature]))
        for (const decode of [decodeChunk, readChunk]) isDecoded(decode, chunk)
      }
    }),
    { numRuns: 700 },
  )
})
