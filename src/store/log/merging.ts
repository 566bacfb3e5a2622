import type { DatabaseSync } from 'node:sqlite'
import { limits } from '../../limits.ts'
import type { LogState } from './log-state.ts'
import type { StreamNumber } from './row-key.ts'
import { encodeIndex, type IndexRange, type IndexRow, pairsOf, postingKey } from './tag-index.ts'

/** Ranges of the index that follow each other and become one: a look-up then touches one row instead of many. */
export interface MergePlan {
  readonly stream: StreamNumber
  readonly revision: number
  readonly ranges: readonly IndexRange[]
}

export interface Merged {
  readonly plan: MergePlan
  readonly bits: number
  readonly rows: readonly IndexRow[]
}

/** The first ranges that are small and many enough, if there are such. */
export function planMerge(log: LogState): MergePlan | undefined {
  for (const { number, revision, pruned } of log.streams) {
    const ranges = mergeable(log.database, number, pruned)
    if (ranges !== undefined) return { stream: number, revision, ranges }
  }
  return undefined
}

function mergeable(database: DatabaseSync, stream: StreamNumber, pruned: number): IndexRange[] | undefined {
  const small = database
    .prepare(
      'SELECT id, stream, first, count, bits FROM range WHERE stream = ? AND first >= ? AND count < ? ORDER BY first',
    )
    .all(stream, pruned, limits.mergedRangeEvents / 2) as unknown as IndexRange[]
  let run: IndexRange[] = []
  for (const range of small) {
    const last = run.at(-1)
    const fits =
      last !== undefined &&
      last.first + last.count === range.first &&
      range.first + range.count - (run[0]?.first ?? 0) <= limits.mergedRangeEvents
    run = fits ? [...run, range] : [range]
    if (run.length === limits.rangesPerMerge) return run
  }
  return undefined
}

/** Does the work of merging with a connection that only reads. */
export function buildMerge(database: DatabaseSync, plan: MergePlan): Merged {
  const [{ first }] = plan.ranges as [IndexRange]
  const parts = plan.ranges.map((range) => {
    const rows = database
      .prepare('SELECT crc, body FROM posting WHERE key >= ? AND key < ? ORDER BY key')
      .all(postingKey(range.id, 0), postingKey(range.id + 1, 0))
    const pairs = pairsOf(range, rows as unknown as { crc: number; body: Uint8Array }[], 0)
    // Positions count from the start of the range; the hash stands above them.
    for (let i = 0; i < pairs.length; i++) pairs[i] = (pairs[i] as number) + range.first - first
    return pairs
  })
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return { plan, ...encodeIndex(all.sort()) }
}

/** Puts the merged range in the place of its parts, in one transaction. */
export function applyMerge(log: LogState, { plan, bits, rows }: Merged): boolean {
  const { ranges, revision, stream } = plan
  const state = [...log.streams].find(({ number }) => number === stream)
  const known = log.database.prepare('SELECT 1 FROM range WHERE id = ? AND stream = ? AND first = ? AND count = ?')
  // What was pruned, dropped or merged in the meantime must not come back.
  if (
    state?.revision !== revision ||
    ranges.some(({ id, first, count }) => known.get(id, stream, first, count) === undefined)
  )
    return false
  const [{ first }] = ranges as [IndexRange]
  const count = ranges.reduce((sum, range) => sum + range.count, 0)
  log.transaction(() => {
    for (const { id } of ranges) log.deleteRange(id)
    log.insertRange(stream, first, count, bits, rows)
  })
  return true
}
