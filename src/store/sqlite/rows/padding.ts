import { pageBytes } from '../log-database.ts'

/** Of a row that is too large for a page, SQLite keeps at least this much beside other rows (its file format, section 1.6). */
const leastLocal = Math.floor(((pageBytes - 12) * 32) / 255) - 23
/** What one overflow page takes. */
const overflowBytes = pageBytes - 4

/**
 * Zeros in front of the parts of a segment, as many as it takes for these to stand in pages of their own only. Those
 * are given back as a whole, while pages that rows share keep copies of rows that were moved, and with them payloads that
 * were removed since. It costs no room: the last page would be filled up anyway.
 */
export function padding(numbers: readonly number[], blobs: readonly (Uint8Array | null)[]): Uint8Array {
  // One byte each for the size of the header, the key and the numbers; sizes of blobs take more.
  const header = 2 + numbers.length + 2 + blobs.reduce((sum, blob) => sum + sizeBytes(blob), 0)
  const values = numbers.reduce((sum, value) => sum + integerBytes(value), 0)
  const rest = header + values + blobs.reduce((sum, blob) => sum + (blob?.length ?? 0), 0)
  const beyond = (rest - leastLocal) % overflowBytes
  const fill = (overflowBytes - beyond) % overflowBytes
  return new Uint8Array(fill < leastLocal ? fill + overflowBytes : fill)
}

function sizeBytes(blob: Uint8Array | null): number {
  return blob === null ? 1 : varintBytes(2 * blob.length + 12)
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** The greatest integer that SQLite stores in so many bytes. */
const greatest = [
  [1, 0],
  [2 ** 7 - 1, 1],
  [2 ** 15 - 1, 2],
  [2 ** 23 - 1, 3],
  [2 ** 31 - 1, 4],
  [2 ** 47 - 1, 6],
] as const

function integerBytes(value: number): number {
  return greatest.find(([most]) => value <= most)?.[1] ?? 8
}
