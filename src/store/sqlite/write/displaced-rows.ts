import type { DatabaseSync } from 'node:sqlite'
import type { StreamNumber } from '../../port/index.ts'
import { isSound, type RawRow, rawRows } from '../rows/raw-rows.ts'
import { rowKey, streamOf } from '../rows/row-key.ts'
import { metadataColumns } from '../rows/segment-columns.ts'
import { type SegmentRow, segmentCrc } from '../rows/segment-row.ts'
import { type TailRow, tailCrc } from '../rows/tail-row.ts'

/** A row of the tail or a segment that does not match its checksum. */
export interface DamagedRow {
  readonly table: 'tail' | 'segment'
  readonly rawKey: bigint
  /** The stream that it belongs to: where it fits with all other columns, or where it is. */
  readonly stream: StreamNumber
  /** Whether it was at another key. */
  readonly isDisplaced: boolean
}

/** Which rows of events are intact, and which are not. */
export interface EventRows {
  readonly damaged: readonly DamagedRow[]
  /** The count after the last intact row of each stream. */
  readonly ends: ReadonlyMap<StreamNumber, number>
}

type Row = Pick<TailRow, 'key' | 'count' | 'crc'>

/**
 * Finds damaged rows of events. A checksum covers the key of its row. So a row with a damaged key matches its checksum
 * with the key that it had: one where an intact row is missing. The stream of such a row is known for certain.
 * @param starts the first keys of all streams
 */
export function damagedRows(database: DatabaseSync, starts: readonly number[]): EventRows {
  const tail = sorted(tailRows(database), tailCrc)
  const segments = sorted(segmentRows(database), segmentCrc)
  const intact = [...segments.places, ...tail.places]
  const gaps = new Set([...starts, ...intact.map(([key, count]) => key + count)])
  for (const [key] of intact) gaps.delete(key)
  const ends = new Map<StreamNumber, number>()
  for (const [key, count] of intact) {
    const stream = streamOf(key)
    ends.set(stream, Math.max(ends.get(stream) ?? 0, key + count - rowKey(stream, 0)))
  }
  return {
    damaged: [
      ...tail.damaged.map((row) => damagedRow('tail', row, gaps, tailCrc)),
      ...segments.damaged.map((row) => damagedRow('segment', row, gaps, segmentCrc)),
    ],
    ends,
  }
}

function tailRows(database: DatabaseSync): Iterable<RawRow<TailRow>> {
  return rawRows<TailRow>(database, 'SELECT key, count, lamport, hash, raw, crc, body FROM tail ORDER BY key')
}

function segmentRows(database: DatabaseSync): Iterable<RawRow<SegmentRow>> {
  return rawRows<SegmentRow>(database, `SELECT ${metadataColumns} FROM segment ORDER BY key`)
}

function sorted<T extends Row>(
  rows: Iterable<RawRow<T>>,
  crcOf: (row: T) => number,
): { places: [number, number][]; damaged: RawRow<T>[] } {
  const places: [number, number][] = []
  const damaged: RawRow<T>[] = []
  for (const row of rows) {
    if (isSound(row, crcOf)) places.push([row.key, row.count])
    else damaged.push(row)
  }
  return { places, damaged }
}

function damagedRow<T extends Row>(
  table: DamagedRow['table'],
  row: RawRow<T>,
  gaps: ReadonlySet<number>,
  crcOf: (row: T) => number,
): DamagedRow {
  for (const key of gaps)
    if (isSound({ ...row, key }, crcOf)) return { table, rawKey: row.rawKey, stream: streamOf(key), isDisplaced: true }
  return { table, rawKey: row.rawKey, stream: streamOf(row.key), isDisplaced: false }
}
