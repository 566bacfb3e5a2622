import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { entryBytes, freeMemory, longestText, sha256Lanes } from '../../src/protocol/sha256-lanes.ts'
import { areShort, selfTested, shortPayloads } from '../../src/protocol/short-payloads.ts'
import * as fc from '../support/property.ts'

const [saltBytes, hashBytes] = [16, 32]

/** Reference implementation: hashes payloads one by one, as the protocol describes. */
function naive(salts: Buffer, payloads: readonly Buffer[]): string[] {
  return payloads.map((payload, i) =>
    hash('sha256', Buffer.concat([salts.subarray(saltBytes * i, saltBytes * (i + 1)), payload])),
  )
}

/** Start and end of contiguous payloads. */
function spansOf(lengths: readonly number[], from = 0): Int32Array {
  const spans: number[] = []
  let at = from
  for (const length of lengths) {
    spans.push(at, at + length)
    at += length
  }
  return Int32Array.from(spans)
}

function together(salts: Buffer, payloads: readonly Buffer[]): string[] {
  const short = shortPayloads()
  assert.ok(short, 'this machine supports SIMD')
  const source = Buffer.concat([Buffer.from('before'), ...payloads, Buffer.from('after')])
  const spans = spansOf(
    payloads.map(({ length }) => length),
    'before'.length,
  )
  const hashes = short.hashes(salts, source, spans, payloads.length)
  return payloads.map((_, i) => hashes.toString('hex', hashBytes * i, hashBytes * (i + 1)))
}

const bytes = (length: fc.Arbitrary<number>): fc.Arbitrary<Buffer> =>
  length.chain((size) => fc.uint8Array({ minLength: size, maxLength: size })).map((array) => Buffer.from(array))

test('payloads hashed in SIMD lanes have the same hashes as one by one, for any number and length', () => {
  // Any length, and those around the end of a 64-byte block, where the padding needs another block.
  const length = fc.oneof(
    fc.constantFrom(0, 1, 38, 39, 40, 46, 47, 48, 102, 103, 104, 111, 112, longestText - 1, longestText),
    fc.nat(longestText),
  )
  fc.assert(
    fc.property(
      fc.array(bytes(length), { minLength: 1, maxLength: 40 }),
      bytes(fc.constant(640)),
      (payloads, salts) => {
        const own = salts.subarray(0, saltBytes * payloads.length)
        assert.deepEqual(together(own, payloads), naive(own, payloads))
      },
    ),
    { numRuns: 1000 },
  )
})

test('payloads of every length up to the maximum are hashed correctly', () => {
  const salts = Buffer.alloc(saltBytes * 4, 7)
  for (let length = 0; length <= longestText; length++) {
    const payloads = [length, longestText - length, 0, length].map((size, i) => Buffer.alloc(size, length + i))
    assert.deepEqual(together(salts, payloads), naive(salts, payloads), `${length}`)
  }
})

test('the payloads of a full frame are hashed together', () => {
  const salts = Buffer.alloc(saltBytes * format.eventsPerFrame, 'any')
  const payloads = Array.from({ length: format.eventsPerFrame }, (_, i) => Buffer.alloc(256, i))
  assert.ok(areShort(spansOf(payloads.map(({ length }) => length)), payloads.length))
  assert.deepEqual(together(salts, payloads), naive(salts, payloads))
})

test('payloads that are too few, too long, or too long on average are not hashed together', () => {
  const judged = (lengths: readonly number[]) => areShort(spansOf(lengths, 10), lengths.length)
  const times = (count: number, length: number) => Array.from({ length: count }, () => length)
  assert.ok(judged(times(8, 100)))
  assert.ok(!judged(times(7, 100)))
  assert.ok(judged(times(128, 256)))
  assert.ok(!judged(times(128, 257)))
  assert.ok(judged([...times(127, 1), longestText]))
  assert.ok(!judged([...times(127, 1), longestText + 1]))
})

test('wasm code that cannot be compiled or fails the self-test is not used', () => {
  const good = () => sha256Lanes(6)
  assert.ok(selfTested(good))
  assert.equal(
    selfTested(() => undefined),
    undefined,
  )
  assert.equal(
    selfTested(() => {
      throw new RangeError('Cannot allocate Wasm memory for new instance')
    }),
    undefined,
  )
  const made = good()
  assert.ok(made)
  const wrong = (run: (list: number, groups: number, hashes: number) => void) =>
    selfTested(() => ({ memory: made.memory, run }))
  assert.equal(
    wrong(() => {}),
    undefined,
  )
  assert.equal(
    wrong((list, groups, hashes) => {
      made.run(list, groups, hashes)
      new Uint8Array(made.memory).fill(0, hashes + 32, hashes + 36)
    }),
    undefined,
  )
  assert.ok(wrong(made.run))
})

test('missing salts, no payloads, and payloads beyond the buffer are refused', () => {
  const short = shortPayloads()
  assert.ok(short)
  const [text, salt] = [Buffer.from('1'), Buffer.alloc(saltBytes)]
  assert.throws(() => short.hashes(Buffer.alloc(0), text, spansOf([]), 0), /each payload has a salt/)
  assert.throws(() => short.hashes(Buffer.alloc(0), text, spansOf([1]), 1), /each payload has a salt/)
  assert.throws(() => short.hashes(Buffer.concat([salt, salt]), text, spansOf([1]), 1), /each payload has a salt/)
  const large = Buffer.alloc(256 * format.eventsPerFrame + 1)
  assert.throws(() => short.hashes(salt, large, spansOf([large.length]), 1), /there is room for all payloads/)
})

test('hashing writes nothing into the memory of the caller but the hashes', () => {
  const lanes = sha256Lanes(1)
  assert.ok(lanes)
  const memory = Buffer.from(lanes.memory)
  const list = freeMemory
  const [hashes, salt, text] = [list + 4 * entryBytes + 64, list + 512, list + 1024]
  memory.fill(0xaa, freeMemory)
  for (let i = 0; i < 4; i++) new Int32Array(lanes.memory, list + i * entryBytes, 3).set([salt, text, 200 * i])
  const before = Buffer.from(memory.subarray(freeMemory))
  lanes.run(list, 1, hashes)
  const after = Buffer.from(memory.subarray(freeMemory))
  assert.notDeepEqual(after, before)
  before.fill(0, hashes - freeMemory, hashes - freeMemory + 4 * hashBytes)
  after.fill(0, hashes - freeMemory, hashes - freeMemory + 4 * hashBytes)
  assert.deepEqual(after, before)
})
