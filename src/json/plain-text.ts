const [space, quote, backslash] = [0x20, 0x22, 0x5c]

/** One byte, four times. */
const [ones, spaces, quotes, backslashes, highBits] = [0x01010101, 0x20202020, 0x22222222, 0x5c5c5c5c, 0x80808080]

/**
 * Text is looked at four bytes at a time. Answers 0 when all four of a word are ASCII that stands for itself in the JSON of
 * a string, else a number whose lowest bit is in the first byte that is not: a quote, a backslash, a control character, or
 * no ASCII. Of the bytes above that one it says nothing, since it borrows from them.
 */
export function notPlain(word: number): number {
  return (word | (word - spaces) | ((word ^ quotes) - ones) | ((word ^ backslashes) - ones)) & highBits
}

/** In which byte of a word the lowest bit is. */
export function lowestByte(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3
}

/** Whether a byte of UTF-8 stands for itself in the JSON of a string. */
export function standsForItself(byte: number): boolean {
  return byte >= space && byte !== quote && byte !== backslash
}

/** The words of some bytes, from any of them on. */
export function wordsOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length)
}
