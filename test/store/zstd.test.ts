import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { compress, decompress } from '../../src/store/sqlite/rows/zstd.ts'
import { noise } from '../support/noise.ts'
import * as fc from '../support/property.ts'

/** Repetitive text, incompressible noise, and both. */
const pieces = fc
  .tuple(fc.nat(40_000), fc.nat(3000), fc.nat(), fc.stringMatching(/^[a-z":,{}]{1,30}$/))
  .map(([length, noisy, seed, text]) => Buffer.concat([Buffer.alloc(length, text), noise(noisy, seed)]))

test('compressed pieces round-trip, and are compatible with the functions of Node', () => {
  fc.assert(
    fc.property(fc.array(pieces, { minLength: 1, maxLength: 6 }), (list) => {
      const packed = list.map((bytes) => Buffer.from(compress(bytes)))
      for (const [i, bytes] of list.entries()) {
        assert.deepEqual(decompress(packed[i] as Buffer, bytes.length), bytes)
        assert.deepEqual(zstdDecompressSync(packed[i] as Buffer), bytes)
        assert.deepEqual(decompress(zstdCompressSync(bytes), bytes.length), bytes)
      }
    }),
    { numRuns: 200 },
  )
})

test('large and incompressible pieces are compressed', () => {
  for (const bytes of [noise(300_000), Buffer.alloc(9_000_000, 'ab'), noise(5_000_000)]) {
    const packed = Buffer.from(compress(bytes))
    assert.ok(packed.length < bytes.length + 1000)
    assert.ok(decompress(packed, bytes.length).equals(bytes))
  }
})

test('a corrupted piece is refused, and does not affect the next one', () => {
  const good = Buffer.from('{"the same":"again and again"}'.repeat(300))
  const packed = Buffer.from(compress(good))
  const isGood = (): void => assert.ok(decompress(packed, good.length).equals(good))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.nat(packed.length - 1).map((length) => packed.subarray(0, length)),
        fc.uint8Array({ maxLength: 200 }).map((noise) => Buffer.from(noise)),
        fc.nat(packed.length - 1).map((at) => Buffer.concat([packed.subarray(0, at), packed.subarray(at + 1)])),
        fc.tuple(fc.nat(packed.length - 1), fc.nat(7)).map(([at, bit]) => {
          const flipped = Buffer.from(packed)
          flipped[at] = (flipped[at] as number) ^ (1 << bit)
          return flipped
        }),
      ),
      (broken) => {
        let bytes: Buffer | undefined
        try {
          bytes = decompress(broken, good.length)
        } catch (error) {
          assert.ok(error instanceof Error)
        }
        // The content is covered by a separate checksum; here only the size has to match.
        if (bytes !== undefined) assert.equal(bytes.length, good.length)
        isGood()
      },
    ),
    { numRuns: 500 },
  )
})

test('a piece of an unexpected size is refused', () => {
  const bytes = Buffer.from('some bytes'.repeat(2000))
  const packed = Buffer.from(compress(bytes))
  for (const size of [0, 1, bytes.length - 1, bytes.length + 1, bytes.length + 60, 2 * bytes.length])
    assert.throws(() => decompress(packed, size))
  assert.ok(decompress(packed, bytes.length).equals(bytes))
})
