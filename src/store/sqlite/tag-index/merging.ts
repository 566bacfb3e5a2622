import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import type { StreamNumber } from '../../port/index.ts'
import { asDamage } from '../rows/checksum.ts'
import { RangeTimes } from '../time-index/range-times.ts'
import { TimeGroups } from '../time-index/time-groups.ts'
import type { LogState } from '../write/log-state.ts'
import { deleteRange, insertRange, postingsOf, soundRanges } from './index-ranges.ts'
import { joinPostings } from './joined-postings.ts'
import type { IndexRange, IndexRow } from './tag-index.ts'

/** Consecutive index ranges to merge into one: a lookup then reads one row instead of many. */
export interface MergePlan {
  readonly stream: StreamNumber
  readonly revision: number
  readonly ranges: readonly IndexRange[]
}

export interface Merged {
  readonly plan: MergePlan
  readonly bits: number
  readonly rows: readonly IndexRow[]
  /** Undefined if they are missing for one of the ranges. */
  readonly times: Uint8Array | undefined
}

/** Plans a merge of the first small ranges, if there are enough of them. */
export function planMerge(log: LogState): MergePlan | undefined {
  for (const { number, revision, pruned } of log.streams) {
    const ranges = mergeable(log.database, number, pruned)
    if (ranges !== undefined) return { stream: number, revision, ranges }
  }
  return undefined
}

function mergeable(database: DatabaseSync, stream: StreamNumber, pruned: number): IndexRange[] | undefined {
  const small = soundRanges(database, stream).filter(
    ({ first, count }) => first >= pruned && count < format.mergedRangeEvents / 2,
  )
  let run: IndexRange[] = []
  for (const range of small) {
    const last = run.at(-1)
    const fits =
      last !== undefined &&
      last.first + last.count === range.first &&
      range.first + range.count - (run[0]?.first ?? 0) <= format.mergedRangeEvents
    run = fits ? [...run, range] : [range]
    if (run.length === tuning.rangesPerMerge) return run
  }
  return undefined
}

/** Builds the merged range. It needs only a read-only connection. */
export function buildMerge(database: DatabaseSync, plan: MergePlan): Merged {
  const parts = plan.ranges.map((range) => ({ range, rows: asDamage(() => postingsOf(database, range)) }))
  return { plan, ...joinPostings(parts), times: asDamage(() => joinTimes(database, plan.ranges)) }
}

function joinTimes(database: DatabaseSync, ranges: readonly IndexRange[]): Uint8Array | undefined {
  const stored = new RangeTimes(database)
  const joined = new TimeGroups()
  for (const range of ranges) {
    const times = stored.of(range)
    if (times === undefined) return undefined
    joined.append(times)
  }
  return joined.encode()
}

/** Replaces the ranges of the plan by the merged one, in one transaction; false when the plan is outdated. */
export function applyMerge(log: LogState, { plan, bits, rows, times }: Merged): boolean {
  const { ranges, revision, stream } = plan
  const state = [...log.streams].find(({ number }) => number === stream)
  const known = new Set(soundRanges(log.database, stream).map(({ id }) => id))
  // Ranges that were pruned, dropped or merged since must not come back.
  if (state?.revision !== revision || ranges.some(({ id }) => !known.has(id))) return false
  const [{ first }] = ranges as [IndexRange]
  assert(ranges.length > 1, 'a merge has several ranges')
  const count = ranges.reduce((sum, range) => sum + range.count, 0)
  log.transaction(() => {
    for (const { id } of ranges) deleteRange(log.database, id)
    insertRange(log.database, { id: log.newRangeId(), stream, first, count, bits }, rows, times)
  })
  return true
}
