const [backslash, lowerU] = [0x5c, 0x75]

/** What each character after a backslash stands for, except `u`. */
const escaped = new Uint8Array(256)
for (const [name, value] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  escaped[(name as string).charCodeAt(0)] = (value as string).charCodeAt(0)

/**
 * Decodes a valid JSON string, given by the range of its UTF-8 between the quotes, to UTF-8. The result is not longer.
 * Returns its end in the target, or -1 if there is a lone surrogate.
 */
export function unescapeTo(target: Uint8Array, start: number, bytes: Uint8Array, from: number, end: number): number {
  let to = start
  for (let at = from; at < end; ) {
    const byte = bytes[at++] as number
    if (byte !== backslash) {
      target[to++] = byte
      continue
    }
    const name = bytes[at++] as number
    if (name !== lowerU) {
      target[to++] = escaped[name] as number
      continue
    }
    const unit = codeUnit(bytes, at)
    at += 4
    const isSurrogate = unit >> 11 === 0xd800 >> 11
    const codePoint = isSurrogate ? pairOf(unit, bytes, at) : unit
    if (codePoint < 0) return -1
    if (isSurrogate) at += 6
    to = putUtf8(target, to, codePoint)
  }
  return to
}

/** The code point of a high surrogate and the escape that follows it, or -1 unless they are a pair. */
function pairOf(high: number, bytes: Uint8Array, at: number): number {
  if (high >= 0xdc00 || bytes[at] !== backslash || bytes[at + 1] !== lowerU) return -1
  const low = codeUnit(bytes, at + 2)
  return low >> 10 === 0xdc00 >> 10 ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : -1
}

/** The value of four hex digits. */
function codeUnit(bytes: Uint8Array, at: number): number {
  let unit = 0
  for (let i = at; i < at + 4; i++) {
    const digit = bytes[i] as number
    // Letters of both cases have the value of their low four bits plus 9.
    unit = (unit << 4) | ((digit & 0x0f) + (digit > 0x39 ? 9 : 0))
  }
  return unit
}

function putUtf8(target: Uint8Array, start: number, codePoint: number): number {
  let at = start
  if (codePoint < 0x80) target[at++] = codePoint
  else {
    if (codePoint < 0x800) target[at++] = 0xc0 | (codePoint >> 6)
    else {
      if (codePoint < 0x10000) target[at++] = 0xe0 | (codePoint >> 12)
      else {
        target[at++] = 0xf0 | (codePoint >> 18)
        target[at++] = 0x80 | ((codePoint >> 12) & 0x3f)
      }
      target[at++] = 0x80 | ((codePoint >> 6) & 0x3f)
    }
    target[at++] = 0x80 | (codePoint & 0x3f)
  }
  return at
}
