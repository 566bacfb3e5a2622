import { failure, messageOf, type ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { OffsetMap } from '../events/index.ts'
import { parseStreamId } from '../identity/index.ts'

/** Parses an offset map from a request. Entries before the first event (`min`, -1) are dropped: they select nothing. */
export function offsetMap(value: unknown, name: string): OffsetMap {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`invalid type, expected a map of offsets at \`${name}\``)
  const entries = Object.entries(value)
  if (entries.length > limits.offsetsPerBound)
    throw invalid(`more than ${limits.offsetsPerBound} offsets at \`${name}\``)
  const offsets: Record<string, number> = {}
  for (const [stream, entry] of entries) {
    checkStreamId(stream)
    const offset = offsetOf(entry)
    if (offset >= 0) offsets[stream] = offset
  }
  return offsets
}

/** Throws unless this is a stream ID in its canonical form. */
function checkStreamId(text: string): void {
  try {
    parseStreamId(text)
  } catch (error) {
    throw invalid(`parsing StreamId: ${messageOf(error)}`)
  }
}

/** An offset: an integer, a string of digits, `min` or `max`. */
function offsetOf(entry: unknown): number {
  if (entry === 'min') return -1
  if (entry === 'max') return Number.MAX_SAFE_INTEGER
  const number = typeof entry === 'string' && /^-?\d+$/.test(entry) ? Number(entry) : entry
  if (typeof number !== 'number' || !Number.isInteger(number))
    throw invalid(`${JSON.stringify(entry)} is not an integer`)
  if (number < -1) throw invalid(`number ${number} is below -1`)
  if (number > Number.MAX_SAFE_INTEGER) throw invalid(`number ${number} is too large`)
  return number
}

function invalid(cause: string): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause })
}
