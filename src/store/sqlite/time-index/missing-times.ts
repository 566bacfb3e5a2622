import type { DatabaseSync } from 'node:sqlite'
import { asDamage, DamagedData } from '../rows/checksum.ts'
import { rowKey } from '../rows/row-key.ts'
import { Segment } from '../rows/segment.ts'
import { segmentColumns } from '../rows/segment-columns.ts'
import type { WholeSegmentRow } from '../rows/segment-row.ts'
import { soundRanges } from '../tag-index/index-ranges.ts'
import type { IndexRange } from '../tag-index/tag-index.ts'
import type { LogState } from '../write/log-state.ts'
import { insertTimes, lacksTimes, rangesWithTimes } from './range-times.ts'
import { TimeGroups } from './time-groups.ts'

/** An index range without times: a store of an earlier version wrote it. */
export interface TimesPlan {
  readonly range: IndexRange
  /** Events before this offset were pruned. */
  readonly pruned: number
  readonly revision: number
}

export interface BuiltTimes {
  readonly plan: TimesPlan
  readonly times: Uint8Array
}

/** Plans the times of the next range that has none and is not in `skipped`. */
export function planTimes(log: LogState, skipped: ReadonlySet<number>): TimesPlan | undefined {
  if (!lacksTimes(log.database)) return undefined
  const stored = rangesWithTimes(log.database)
  for (const { number, pruned, revision } of log.streams) {
    const range = soundRanges(log.database, number).find(({ id }) => !stored.has(id) && !skipped.has(id))
    if (range !== undefined) return { range, pruned, revision }
  }
  return undefined
}

/** Reads the times of a range from its segments. It needs only a read-only connection. */
export function buildTimes(database: DatabaseSync, plan: TimesPlan): BuiltTimes {
  return { plan, times: asDamage(() => timesOf(database, plan)).encode() }
}

function timesOf(database: DatabaseSync, { range, pruned }: TimesPlan): TimeGroups {
  const { stream, first, count } = range
  const times = new TimeGroups()
  // Pruned events are not read, so any time will do.
  if (pruned > first) times.addGroup(Math.min(pruned - first, count), 0, 0)
  const segments = database.prepare(`SELECT ${segmentColumns} FROM segment WHERE key >= ? AND key < ? ORDER BY key`)
  for (const row of segments.iterate(rowKey(stream, first + times.count), rowKey(stream, first + count))) {
    const segment = new Segment(row as unknown as WholeSegmentRow)
    if (segment.first !== first + times.count) throw new DamagedData(`there is a gap in stream ${stream}`)
    while (times.count < segment.first + segment.count - first) times.add(segment.blockAt(first + times.count).times)
  }
  if (times.count !== count) throw new DamagedData(`the events of the index range ${range.id} are incomplete`)
  return times
}

/** Stores the times of a range; false when it was merged or pruned since. */
export function applyTimes(log: LogState, { plan, times }: BuiltTimes): boolean {
  const { range } = plan
  if (!soundRanges(log.database, range.stream).some(({ id }) => id === range.id)) return false
  log.transaction(() => insertTimes(log.database, range, times))
  return true
}
