import type { DatabaseSync } from 'node:sqlite'
import { type Head, heads } from '../../../protocol/index.ts'
import type { Checkpoint, StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from './checksum.ts'
import { rowKey } from './row-key.ts'
import { checkStreamRow, type StreamRow } from './stream-row.ts'

/** Each row names the checkpoint before it, so that a missing one is detected. */
export interface CheckpointRow {
  readonly key: number
  /** The count of the previous checkpoint; 0 when there is none. */
  readonly before: number
  readonly head: Uint8Array
  readonly crc: number
}

export function checkpointCrc({ key, before, head }: Omit<CheckpointRow, 'crc'>): number {
  return checksum(head, key, before)
}

/** The checkpoints of a stream in order, from the one where it was pruned. */
export function checkpointsOf(database: DatabaseSync, stream: StreamNumber, pruned: number): Checkpoint[] {
  const later = checkpointsAfter(database, stream, pruned)
  return pruned === 0 ? later : [checkpointAt(database, stream, pruned), ...later]
}

/** The next checkpoints after an offset, up to a limit. */
export function checkpointsAfter(
  database: DatabaseSync,
  stream: StreamNumber,
  after: number,
  limit = Number.MAX_SAFE_INTEGER,
): Checkpoint[] {
  const start = rowKey(stream, 0)
  // Read before the checkpoints: ones that are added in between only make the list longer.
  const newest = newestCheckpoint(database, stream)
  const rows = database
    .prepare('SELECT key, before, head, crc FROM checkpoint WHERE key > ? AND key < ? ORDER BY key LIMIT ?')
    .all(start + after, rowKey(stream + 1, 0), limit) as unknown as CheckpointRow[]
  let known = after
  const checkpoints = rows.map((row, i) => {
    const checkpoint = verified(row, stream)
    // The offset may lie between two checkpoints.
    if (i === 0 ? row.before > known : row.before !== known)
      throw new DamagedData(`a checkpoint of stream ${stream} is missing before ${checkpoint.count}`)
    known = checkpoint.count
    return checkpoint
  })
  // A damaged key can truncate the list.
  if (checkpoints.length < limit && known < newest)
    throw new DamagedData(`the checkpoints of stream ${stream} end at ${known}, not at ${newest}`)
  return checkpoints
}

/** The count of the newest checkpoint, from the row of the stream; 0 when there is none. */
function newestCheckpoint(database: DatabaseSync, stream: StreamNumber): number {
  const row = database
    .prepare('SELECT number, node, nr, pruned, checkpoint, record, head, crc FROM stream WHERE number = ?')
    .get(stream) as unknown as StreamRow | undefined
  if (row === undefined) return 0
  checkStreamRow(row, stream)
  return row.checkpoint
}

export function checkpointAt(database: DatabaseSync, stream: StreamNumber, count: number): Checkpoint {
  const row = database
    .prepare('SELECT key, before, head, crc FROM checkpoint WHERE key = ?')
    .get(rowKey(stream, count)) as unknown as CheckpointRow | undefined
  if (row === undefined) throw new DamagedData(`the checkpoint of stream ${stream} at ${count} is missing`)
  return verified(row, stream)
}

/** Decodes the head of a checkpoint, which was verified before it was stored. */
export function headOf({ head }: Checkpoint): Head {
  return heads.decodeStored(head)
}

function verified(row: CheckpointRow, stream: StreamNumber): Checkpoint {
  if (checkpointCrc(row) !== row.crc) throw new DamagedData(`a checkpoint of stream ${stream} is damaged`)
  return { count: row.key - rowKey(stream, 0), head: row.head }
}
