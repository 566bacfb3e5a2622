import { format } from '../../../base/format.ts'

const { logPageBytes } = format

/** Minimum bytes of a row with overflow pages that SQLite stores in the b-tree page (its file format, section 1.6). */
const minLocal = Math.floor(((logPageBytes - 12) * 32) / 255) - 23
/** Content bytes of an overflow page. */
const overflowBytes = logPageBytes - 4

/**
 * Zeros before the parts of a segment, so that all of these are in overflow pages. Those are freed as a whole, while
 * b-tree pages keep stale copies of moved rows, and with them redacted payloads. It costs no space: the last page would
 * be padded anyway.
 */
export function padding(numbers: readonly number[], blobs: readonly (Uint8Array | null)[]): Uint8Array {
  // One byte each for the size of the header, the key and the numbers; sizes of blobs take more.
  const header = 2 + numbers.length + 2 + blobs.reduce((sum, blob) => sum + sizeBytes(blob), 0)
  const values = numbers.reduce((sum, value) => sum + integerBytes(value), 0)
  const rest = header + values + blobs.reduce((sum, blob) => sum + (blob?.length ?? 0), 0)
  const beyond = (rest - minLocal) % overflowBytes
  const fill = (overflowBytes - beyond) % overflowBytes
  return new Uint8Array(fill < minLocal ? fill + overflowBytes : fill)
}

function sizeBytes(blob: Uint8Array | null): number {
  return blob === null ? 1 : varintBytes(2 * blob.length + 12)
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** The largest integer that SQLite stores in each number of bytes. */
const integerSizes = [
  [1, 0],
  [2 ** 7 - 1, 1],
  [2 ** 15 - 1, 2],
  [2 ** 23 - 1, 3],
  [2 ** 31 - 1, 4],
  [2 ** 47 - 1, 6],
] as const

function integerBytes(value: number): number {
  return integerSizes.find(([largest]) => value <= largest)?.[1] ?? 8
}
