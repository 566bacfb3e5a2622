const [space, quote, backslash] = [0x20, 0x22, 0x5c]

/** SWAR constants: one byte repeated in all four bytes of a word. */
const [ones, spaces, quotes, backslashes, highBits] = [0x01010101, 0x20202020, 0x22222222, 0x5c5c5c5c, 0x80808080]

/**
 * Tests four bytes at once (SWAR). Returns 0 when all four bytes are ASCII that needs no escape in a JSON string. Else
 * the lowest set bit is in the first byte that does: a quote, a backslash, a control character or non-ASCII. Bits of
 * higher bytes are undefined, because the subtraction borrows from them.
 */
export function notPlain(word: number): number {
  return (word | (word - spaces) | ((word ^ quotes) - ones) | ((word ^ backslashes) - ones)) & highBits
}

/** The index of the byte with the lowest set bit. */
export function lowestByte(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3
}

/** Whether a byte of UTF-8 needs no escape in a JSON string. */
export function needsNoEscape(byte: number): boolean {
  return byte >= space && byte !== quote && byte !== backslash
}

/** A `DataView` for unaligned 32-bit reads. */
export function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length)
}
