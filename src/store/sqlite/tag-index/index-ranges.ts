import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import type { StreamNumber } from '../../port/index.ts'
import { DamagedData } from '../rows/checksum.ts'
import { deleteTimes, dropOrphanedTimes, insertTimes } from '../time-index/range-times.ts'
import {
  type IndexRange,
  type IndexRow,
  type PostingRow,
  pairsOf,
  postingCrc,
  postingKey,
  rangeCrc,
} from './tag-index.ts'

const columns = 'id, stream, first, count, bits, crc'

/** The undamaged index ranges of a stream, in order. */
export function soundRanges(database: DatabaseSync, stream: StreamNumber): IndexRange[] {
  return soundRangesOf(database)(stream)
}

/** The same as a prepared statement. */
export function soundRangesOf(database: DatabaseSync): (stream: StreamNumber) => IndexRange[] {
  const rows = rowsOf(database, `SELECT ${columns} FROM range WHERE stream = ? ORDER BY first`)
  return (stream) => rows(stream).flatMap((row) => soundRange(row) ?? [])
}

/** Finds the range that contains an event; undefined when there is none, or when the row found is damaged. */
export function soundRangeAt(database: DatabaseSync): (stream: StreamNumber, offset: number) => IndexRange | undefined {
  const place = 'stream = ?1 AND first <= ?2 AND first + count > ?2'
  const rows = rowsOf(database, `SELECT ${columns} FROM range WHERE ${place} LIMIT 1`)
  return (stream, offset) => rows(stream, offset).flatMap((row) => soundRange(row) ?? [])[0]
}

type RangeRow = readonly (number | bigint)[]

/** Returns rows as arrays: in a damaged schema the names of columns may differ. */
function rowsOf(database: DatabaseSync, sql: string): (...args: SQLInputValue[]) => RangeRow[] {
  const [usual, exact] = [database.prepare(sql), database.prepare(sql)]
  exact.setReadBigInts(true)
  for (const statement of [usual, exact]) statement.setReturnArrays(true)
  return (...args) => {
    try {
      return usual.all(...args) as unknown[] as RangeRow[]
    } catch {
      // Damaged numbers may be too large for a number; as bigints they fail the checksum.
      return exact.all(...args) as unknown[] as RangeRow[]
    }
  }
}

function soundRange(row: RangeRow): IndexRange | undefined {
  const [id, stream, first, count, bits, crc] = row.map(Number) as [number, number, number, number, number, number]
  const range = { id, stream, first, count, bits }
  try {
    return rangeCrc(range) === crc ? range : undefined
  } catch {
    // Numbers that cannot be checksummed are damaged: the range is dropped and rebuilt.
    return undefined
  }
}

/** All hashes of a range with their positions, in order. Throws if a row is damaged. */
export function pairsIn(database: DatabaseSync, range: IndexRange, pruned = 0): Float64Array {
  return pairsOf(range, postingsOf(database, range), pruned)
}

/** The rows of a range, in order. Their checksums are not verified. */
export function postingsOf(database: DatabaseSync, range: IndexRange): PostingRow[] {
  const rows = database
    .prepare('SELECT key, crc, body FROM posting WHERE key >= ? AND key < ? ORDER BY key')
    .all(postingKey(range.id, 0), postingKey(range.id + 1, 0)) as unknown as (PostingRow & { key: number })[]
  if (rows.some(({ key }, bucket) => key !== postingKey(range.id, bucket)))
    throw new DamagedData('a row of the index is in the wrong place')
  if (rows.length !== 2 ** range.bits) throw new DamagedData('rows of the index are missing')
  return rows
}

/** Stores a range with its rows and its times, within the current transaction. */
export function insertRange(
  database: DatabaseSync,
  range: IndexRange,
  rows: readonly IndexRow[],
  times: Uint8Array | undefined,
): void {
  const { id, stream, first, count, bits } = range
  assert(rows.length === 2 ** bits && count > 0, 'a range of the index has events, and a row for each bucket')
  database
    .prepare(`INSERT INTO range (${columns}) VALUES (?, ?, ?, ?, ?, ?)`)
    .run(id, stream, first, count, bits, rangeCrc(range))
  const insert = database.prepare('INSERT INTO posting (key, crc, body) VALUES (?, ?, ?)')
  for (const { bucket, body } of rows) insert.run(postingKey(id, bucket), postingCrc(range, bucket, body), body)
  if (times !== undefined) insertTimes(database, range, times)
}

export function deleteRange(database: DatabaseSync, id: number): void {
  database.prepare('DELETE FROM posting WHERE key >= ? AND key < ?').run(postingKey(id, 0), postingKey(id + 1, 0))
  database.prepare('DELETE FROM range WHERE id = ?').run(id)
  deleteTimes(database, id)
}

/** Drops damaged ranges, and all postings and times without a range. Returns whether a range was dropped. */
export function dropDamagedRanges(database: DatabaseSync): boolean {
  const damaged = rowsOf(database, `SELECT ${columns} FROM range`)().filter((row) => soundRange(row) === undefined)
  if (damaged.length === 0) return false
  const remove = database.prepare('DELETE FROM range WHERE id = ?')
  for (const [id] of damaged) remove.run(id as number | bigint)
  database.prepare(`DELETE FROM posting WHERE key / ${postingKey(1, 0)} NOT IN (SELECT id FROM range)`).run()
  dropOrphanedTimes(database)
  return true
}

/** The first ID that no range has, and no orphaned posting. */
export function freeRangeId(database: DatabaseSync): number {
  const id = database.prepare('SELECT max(id) AS last FROM range WHERE id BETWEEN 0 AND ?').get(format.rangesPerLog)?.[
    'last'
  ]
  const key = database
    .prepare('SELECT max(key) AS last FROM posting WHERE key BETWEEN 0 AND ?')
    .get(postingKey(format.rangesPerLog, 0))?.['last']
  return Math.max(Number(id ?? 0), Math.floor(Number(key ?? 0) / postingKey(1, 0))) + 1
}
