import { isUtf8 } from 'node:buffer'
import { limits } from '../base/limits.ts'
import { MalformedBytes } from './bytes.ts'

const [newline, quote, backslash] = [0x0a, 0x22, 0x5c]
const opening = new Set([0x5b, 0x7b])
const closing = new Set([0x5d, 0x7d])

/** Validates a payload: one JSON value on one line, within the nesting limit. */
export function checkPayload(bytes: Buffer, start: number, end: number): void {
  const text = bytes.subarray(start, end)
  if (!isUtf8(text)) throw new MalformedBytes('a payload is not UTF-8')
  // In valid JSON a raw line break is insignificant whitespace, never part of a string.
  if (text.includes(newline)) throw new MalformedBytes('a payload is not on one line')
  if (maxDepth(text) > limits.jsonNesting) throw new MalformedBytes('a payload is nested too deeply')
  try {
    JSON.parse(text.toString('utf8'))
  } catch {
    throw new MalformedBytes('a payload is not JSON')
  }
}

/** The maximum nesting depth of brackets outside of strings. */
function maxDepth(text: Buffer): number {
  let depth = 0
  let max = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number
    if (inString) {
      if (byte === backslash) i++
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (opening.has(byte)) max = Math.max(max, ++depth)
    else if (closing.has(byte)) depth--
  }
  return max
}
