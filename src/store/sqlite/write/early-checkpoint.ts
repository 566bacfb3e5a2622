import { genesis } from '../../../protocol/index.ts'
import { type ChainPlace, chainAt as chainOf, startChunkAt } from '../../../replication/index.ts'
import { storedStream } from '../read/stored-stream.ts'
import { asDamage } from '../rows/checksum.ts'
import { framesOfSegment } from '../rows/records.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import { blockSize, encodeSegment, Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import { segmentInserter, type WholeSegmentRow } from '../rows/segment-row.ts'
import { streamIdOf } from '../rows/stream-id.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { framesOf, recordsOfFrames, type TailRow, tailRow } from '../rows/tail-row.ts'
import type { LogState } from './log-state.ts'

/** The place after `count` events, from the checkpoint before; undefined when no frame ends there. */
export function placeAt({ database, options }: LogState, state: StreamState, count: number): ChainPlace | undefined {
  const start = genesis(options.topic, state.key, options.kind)
  const stored = storedStream(database, state.number, { count: state.count, pruned: state.pruned, genesis: start })
  return asDamage(() => chainOf(stored, count))
}

/**
 * Adds a checkpoint head within a chunk, before the events up to it are removed: the rest of the chunk gets rows that
 * start there.
 */
export function insertEarlyCheckpoint(log: LogState, state: StreamState, at: ChainPlace, signed: Uint8Array): void {
  const { database } = log
  const { number } = state
  const key = rowKey(number, at.count)
  cutSegment(database, state, key)
  cutTail(log, key, at)
  log.putCheckpoint(key, checkpointBefore(log, number, at.count), signed)
  const bytes = database
    .prepare('SELECT total(raw) AS bytes FROM tail WHERE key >= ? AND key < ?')
    .get(key, rowKey(number + 1, 0))?.['bytes']
  startChunkAt(state, at.count, Number(bytes))
}

/** The count of the last checkpoint before an offset; 0 when there is none. */
function checkpointBefore({ database }: Pick<LogState, 'database'>, stream: number, count: number): number {
  const row = database
    .prepare('SELECT max(key) AS key FROM checkpoint WHERE key > ? AND key < ?')
    .get(rowKey(stream, 0), rowKey(stream, count))
  return row?.['key'] == null ? 0 : offsetOf(Number(row['key']))
}

/** Selects the row with events both before and after a key. */
function spans(table: 'segment' | 'tail'): string {
  return `key = (SELECT max(key) FROM ${table} WHERE key < ?1) AND key + count > ?1`
}

/** Copies the events of a segment from a key on to a segment of their own. */
function cutSegment(database: LogState['database'], state: StreamState, key: number): void {
  const row = database.prepare(`SELECT ${segmentColumns} FROM segment WHERE ${spans('segment')}`).get(key) as unknown as
    | WholeSegmentRow
    | undefined
  if (row === undefined) return
  const frames = framesOfSegment(new Segment(row)).filter(({ first }) => first >= offsetOf(key))
  const place = { key, count: row.key + row.count - key, lamport: frames[0]?.lamports[0] as number, last: row.last }
  segmentInserter(database)(place, encodeSegment(frames, streamIdOf(state.key), blockSize(frames)))
}

/** The same for a row of the tail: the row of a received chunk may have several frames. */
function cutTail(log: LogState, key: number, { hash }: ChainPlace): void {
  const row = log.database
    .prepare(`SELECT key, count, lamport, hash, raw, crc, body FROM tail WHERE ${spans('tail')}`)
    .get(key) as unknown as TailRow | undefined
  if (row === undefined) return
  const records = recordsOfFrames(framesOf(row).filter(({ first }) => first >= offsetOf(key)))
  log.insertTail(tailRow(key, row.key + row.count - key, row.lamport, { is: 'before', hash }, records))
}
