import type { DatabaseSync } from 'node:sqlite'
import type { Frame } from '../../../protocol/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { DamagedData } from '../rows/checksum.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey } from '../rows/row-key.ts'
import { Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import type { WholeSegmentRow } from '../rows/segment-row.ts'
import { framesOf, type TailRow } from '../rows/tail-row.ts'

/** Selects the rows of a stream that starts at ?3, from the one that contains the key ?1 to before the key ?2. */
function rowsOf(table: 'segment' | 'tail', columns: string): string {
  return `SELECT ${columns} FROM ${table}
    WHERE key >= max(?3, ifnull((SELECT max(key) FROM ${table} WHERE key <= ?1), ?1)) AND key < ?2 AND key + count > ?1
    ORDER BY key`
}

const sealedRows = rowsOf('segment', segmentColumns)
const tailRows = rowsOf('tail', 'key, count, lamport, hash, raw, crc, body')

/**
 * The frames in a range of offsets, exactly as they were written, from the one that contains the first offset. They are
 * read row by row. The caller has to pin a snapshot of the database if others write to it.
 */
export function* framesFrom(
  database: DatabaseSync,
  stream: StreamNumber,
  from: number,
  to: number,
): Generator<Frame, void, undefined> {
  let next = from
  for (const frames of rowsWithFrames(database, stream, from, to))
    for (const frame of frames) {
      const end = frame.first + frame.count
      if (end <= from) continue
      if (frame.first >= to) return
      if (frame.first !== next && !(next === from && frame.first < from)) throw missing(stream, next)
      yield frame
      next = end
    }
  if (next < to) throw missing(stream, next)
}

/** Sealed events are before all others of their stream. */
function* rowsWithFrames(
  database: DatabaseSync,
  stream: StreamNumber,
  from: number,
  to: number,
): Generator<Frame[], void, undefined> {
  const [start, end] = [rowKey(stream, 0), rowKey(stream, to)]
  let next = rowKey(stream, from)
  for (const row of database.prepare(sealedRows).iterate(next, end, start)) {
    const segment = row as unknown as WholeSegmentRow
    yield framesOfSegment(new Segment(segment))
    next = segment.key + segment.count
  }
  if (next >= end) return
  for (const row of database.prepare(tailRows).iterate(next, end, start)) yield framesOf(row as unknown as TailRow)
}

function missing(stream: StreamNumber, offset: number): DamagedData {
  return new DamagedData(`the event ${offset} of stream ${stream} is missing`)
}
