const [backslash, firstWithMarks] = [0x5c, 0xcc]

/**
 * Ranges of characters of which any text is in NFC: they do not decompose, compose with a character before them or
 * change places with it. Unicode guarantees that this never changes for an assigned character. A test checks each.
 */
const normalRanges = Int32Array.from(
  [
    // Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic
    [0x0000, 0x02ff],
    [0x0388, 0x0482],
    [0x048a, 0x058f],
    [0x05d0, 0x05ea],
    [0x0620, 0x064a],
    [0x0660, 0x066f],
    [0x0671, 0x06d5],
    // Latin Extended Additional: Vietnamese
    [0x1e00, 0x1eff],
    // Punctuation, joiners, symbols
    [0x2002, 0x20c0],
    [0x2190, 0x2328],
    [0x232b, 0x2adb],
    // Chinese, Japanese, Korean
    [0x3000, 0x3029],
    [0x3030, 0x3096],
    [0x309b, 0x30ff],
    [0x3400, 0x9fff],
    [0xac00, 0xd7a3],
    // Variation selectors and full-width forms
    [0xfe00, 0xfe0f],
    [0xff01, 0xffbe],
    // Emoji
    [0x1f300, 0x1faff],
  ].flat(),
)

/**
 * Whether a JSON string, given by the range of its valid UTF-8 between the quotes, is certainly its own value in NFC:
 * without escapes, and of characters that are known to be normalised. Other strings have to be decoded to find out.
 */
export function isVerbatim(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number
    if (byte === backslash) return false
    if (byte < firstWithMarks) at++
    else if (byte < 0xe0) {
      if (!isNormal(((byte & 0x1f) << 6) | low(bytes, at + 1))) return false
      at += 2
    } else if (byte < 0xf0) {
      if (!isNormal(((byte & 0x0f) << 12) | (low(bytes, at + 1) << 6) | low(bytes, at + 2))) return false
      at += 3
    } else {
      const high = ((byte & 0x07) << 18) | (low(bytes, at + 1) << 12)
      if (!isNormal(high | (low(bytes, at + 2) << 6) | low(bytes, at + 3))) return false
      at += 4
    }
  }
  return true
}

/** The six bits of a continuation byte. */
function low(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) & 0x3f
}

function isNormal(codePoint: number): boolean {
  let i = 0
  while (i < normalRanges.length && codePoint > (normalRanges[i + 1] as number)) i += 2
  return i < normalRanges.length && codePoint >= (normalRanges[i] as number)
}
