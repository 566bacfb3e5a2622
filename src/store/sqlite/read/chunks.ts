import type { DatabaseSync } from 'node:sqlite'
import { encodeChunk, type Frame } from '../../../protocol/index.ts'
import { endOfChunk } from '../../../replication/index.ts'
import { type FrameTime, frameTime, type StreamNumber } from '../../port/index.ts'
import { checkpointsAfter } from '../rows/checkpoints.ts'
import { DamagedData } from '../rows/checksum.ts'
import { evidenceOf } from '../rows/evidence.ts'
import { framesOfSegment } from '../rows/records.ts'
import { rowKey } from '../rows/row-key.ts'
import { Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import type { WholeSegmentRow } from '../rows/segment-row.ts'
import { framesOf, type TailRow } from '../rows/tail-row.ts'

/** The chunk that starts at an offset; undefined when there are no events after it. */
export function chunkFrom(
  database: DatabaseSync,
  stream: StreamNumber,
  from: number,
  newest: Uint8Array | undefined,
): Uint8Array | undefined {
  return inTransaction(database, () => {
    const end = endOfChunk(from, checkpointsAfter(database, stream, from, 1)[0]?.head, newest)
    if (end === undefined) return undefined
    // Of a forked stream only what both branches have in common is served.
    if (end.count > (evidenceOf(database, stream)?.frozen ?? end.count)) return undefined
    const frames = framesBetween(database, stream, from, end.count)
    return encodeChunk(
      frames.map(({ bytes, record }) => bytes.subarray(...record)),
      end.signedHead,
    )
  })
}

/** The frames of the chunk that starts at an offset, of a stream with `count` events. */
export function framesOfChunk(database: DatabaseSync, stream: StreamNumber, from: number, count: number): FrameTime[] {
  return inTransaction(database, () => {
    const end = checkpointsAfter(database, stream, from, 1)[0]?.count ?? count
    return framesBetween(database, stream, from, end).map(frameTime)
  })
}

/** Pins one snapshot of the database: frames that are sealed between two statements would be in neither table. */
function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN')
  try {
    return work()
  } finally {
    database.exec('COMMIT')
  }
}

/** The frames between two offsets, exactly as they were written. */
export function framesBetween(database: DatabaseSync, stream: StreamNumber, from: number, to: number): Frame[] {
  const frames: Frame[] = []
  for (let next = from; next < to; ) {
    const found = sealedFrames(database, stream, next) ?? tailFrames(database, stream, next)
    const [first] = found
    if (first?.first !== next) throw new DamagedData(`the event ${next} of stream ${stream} is missing`)
    frames.push(...found)
    next = lastOf(found)
  }
  if (frames.length > 0 && lastOf(frames) !== to) return frames.filter(({ first }) => first < to)
  return frames
}

function lastOf(frames: readonly Frame[]): number {
  const last = frames.at(-1)
  return last === undefined ? 0 : last.first + last.count
}

function sealedFrames(database: DatabaseSync, stream: StreamNumber, offset: number): Frame[] | undefined {
  const row = database
    .prepare(`SELECT ${segmentColumns} FROM segment WHERE key = ?`)
    .get(rowKey(stream, offset)) as unknown as WholeSegmentRow | undefined
  return row && framesOfSegment(new Segment(row))
}

function tailFrames(database: DatabaseSync, stream: StreamNumber, offset: number): Frame[] {
  const row = database
    .prepare('SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE key = ?')
    .get(rowKey(stream, offset))
  return row === undefined ? [] : framesOf(row as unknown as TailRow)
}
