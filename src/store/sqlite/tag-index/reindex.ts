import { tuning } from '../../../base/tuning.ts'
import type { Frame } from '../../../protocol/index.ts'
import { rethrowDiskError } from '../../disk/disk-io-error.ts'
import { framesBetween } from '../read/chunks.ts'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { RangeTimes } from '../time-index/range-times.ts'
import { TimeGroups } from '../time-index/time-groups.ts'
import type { LogState } from '../write/log-state.ts'
import { deleteRange, dropDamagedRanges, insertRange, pairsIn, soundRanges } from './index-ranges.ts'
import { IndexBuilder, type IndexRange, labelHashes } from './tag-index.ts'

/** Rebuilds the index where it is missing; damaged ranges are dropped first. Returns whether anything was done. */
export function reindexNext(log: LogState): boolean {
  if (log.transaction(() => dropDamagedRanges(log.database))) return true
  for (const state of log.streams) {
    const gap = firstGap(state, soundRanges(log.database, state.number))
    if (gap !== undefined && tryRebuild(log, state, ...gap)) return true
  }
  return false
}

/** Drops the index range that contains an offset, if it is damaged. */
export function dropIndexAt(log: LogState, stream: number, offset: number): void {
  for (const range of soundRanges(log.database, stream))
    if (range.first <= offset && offset < range.first + range.count && isDamaged(log, range))
      log.transaction(() => deleteRange(log.database, range.id))
}

function isDamaged(log: LogState, range: IndexRange): boolean {
  try {
    pairsIn(log.database, range)
    new RangeTimes(log.database).of(range)
    return false
  } catch (error) {
    rethrowDiskError(error)
    return true
  }
}

/** The first sealed events without an index. */
function firstGap({ pruned, sealed }: StreamState, ranges: readonly IndexRange[]): [number, number] | undefined {
  let next = pruned
  for (const { first, count } of ranges) {
    if (first > next) return [next, Math.min(first, sealed)]
    next = Math.max(next, first + count)
  }
  return next < sealed ? [next, sealed] : undefined
}

/** Returns false for damaged events, which stay without an index: a query that reads them fails. */
function tryRebuild(log: LogState, state: StreamState, from: number, to: number): boolean {
  try {
    asDamage(() => rebuild(log, state, from, to))
    return true
  } catch (error) {
    if (error instanceof DamagedData) return false
    throw error
  }
}

function rebuild(log: LogState, state: StreamState, from: number, to: number): void {
  const start = rowKey(state.number, 0)
  const rows = log.database
    .prepare('SELECT key, count FROM segment WHERE key >= ? AND key < ? ORDER BY key LIMIT ?')
    .all(start + from, start + to, tuning.chunksPerSeal)
  if (rows.length === 0) throw new DamagedData(`the event ${from} of stream ${state.number} is missing`)
  const builder = new IndexBuilder(from)
  const times = new TimeGroups()
  let next = from
  for (const row of rows) {
    const end = Number(row['key']) - start + Number(row['count'])
    for (const frame of framesBetween(log.database, state.number, next, end)) {
      addFrame(builder, frame)
      times.add(frame.times)
    }
    next = end
  }
  const { bits, rows: postings } = builder.finish()
  const range = { stream: state.number, first: from, count: next - from, bits }
  log.transaction(() => insertRange(log.database, { id: log.newRangeId(), ...range }, postings, times.encode()))
}

/** Adds the events of a frame to an index. */
export function addFrame(builder: IndexBuilder, { bytes, first, count, labels }: Frame): void {
  for (let i = 0; i < count; i++)
    builder.add(first + i, labelHashes(bytes, labels[2 * i] as number, labels[2 * i + 1] as number))
}
