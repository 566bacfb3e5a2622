import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowestByte, needsNoEscape, notPlain, viewOf } from '../../src/json/plain-text.ts'
import { ByteWriter } from '../../src/protocol/bytes.ts'
import * as fc from '../support/property.ts'

/** Any byte, and edge cases: control characters, quotes, backslashes, non-ASCII. */
const byte = fc.oneof(
  fc.constantFrom(0x00, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff),
  fc.nat(255),
)
const plain = fc.constantFrom(...'abc 019:~!')
const isPlain = (b: number): boolean => b >= 0x20 && b < 0x80 && b !== 0x22 && b !== 0x5c

test('the first of four bytes that needs an escape or is not ASCII is found', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.array(byte, { maxLength: 4 }), (any, special) => {
      const bytes = Uint8Array.from(any, (b, i) => special[i] ?? b)
      const found = notPlain(viewOf(bytes).getInt32(0, true))
      const expected = bytes.findIndex((b) => !isPlain(b))
      assert.equal(found === 0 ? -1 : lowestByte(found), expected, bytes.join())
    }),
    { numRuns: 20_000 },
  )
})

test('an ASCII byte needs no escape exactly when JSON.stringify does not escape it', () => {
  for (let b = 0; b < 0x80; b++)
    assert.equal(needsNoEscape(b), JSON.stringify(String.fromCharCode(b)).length === 3, `${b}`)
})

test('text is copied up to the first byte that needs an escape, at any position and length', () => {
  const text = fc.oneof(fc.array(byte, { maxLength: 40 }), fc.string({ unit: plain, maxLength: 40 }).map(Buffer.from))
  fc.assert(
    fc.property(fc.nat(9), text, fc.nat(9), fc.nat(7), (before, part, after, written) => {
      // Surrounded by other bytes, which must not be copied.
      const bytes = Buffer.concat([Buffer.alloc(before, 'x'), Buffer.from(part), Buffer.alloc(after, 'y')])
      const writer = new ByteWriter(1).bytes(Buffer.alloc(written, 'w'))
      const end = before + part.length
      const stop = [...part].findIndex((b) => !needsNoEscape(b))
      assert.equal(writer.plainText(viewOf(bytes), before, end), stop < 0)
      const expected = bytes.subarray(before, stop < 0 ? end : before + stop)
      assert.deepEqual(writer.written, Buffer.concat([Buffer.alloc(written, 'w'), expected]))
    }),
    { numRuns: 5000 },
  )
})

test('a short range is copied unchanged, at any position and length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(), fc.nat(), fc.nat(9), (bytes, a, b, shift) => {
      const [start, end] = [a % (bytes.length + 1), b % (bytes.length + 1)].sort((x, y) => x - y) as [number, number]
      const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).subarray(shift)
      const writer = new ByteWriter(1).byte(7).shortBytes(viewOf(shifted), start, end)
      assert.deepEqual(writer.written, Buffer.concat([Buffer.of(7), bytes.subarray(start, end)]))
    }),
  )
})
