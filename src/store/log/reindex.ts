import { limits } from '../../limits.ts'
import { framesBetween } from './chunks.ts'
import type { LogState } from './log-state.ts'
import { rowKey } from './row-key.ts'
import type { StreamState } from './stream-state.ts'
import { IndexBuilder, type IndexRange, rangeCrc } from './tag-index.ts'

/** Makes the index anew where it is missing: what was damaged is dropped, and then is missing. Answers whether there was something to do. */
export function reindexNext(log: LogState): boolean {
  for (const state of log.streams) {
    const gap = firstGap(state, soundRanges(log, state))
    if (gap === undefined) continue
    rebuild(log, state, ...gap)
    return true
  }
  return false
}

/** Drops the index of the range that holds an offset. */
export function dropIndexAt(log: LogState, stream: number, offset: number): void {
  const rows = log.database
    .prepare('SELECT id FROM range WHERE stream = ? AND first <= ? AND first + count > ?')
    .all(stream, offset, offset)
  log.transaction(() => {
    for (const row of rows) log.deleteRange(Number(row['id']))
  })
}

function soundRanges(log: LogState, { number }: StreamState): IndexRange[] {
  const rows = log.database
    .prepare('SELECT id, stream, first, count, bits, crc FROM range WHERE stream = ? ORDER BY first')
    .all(number) as unknown as (IndexRange & { crc: number })[]
  const damaged = rows.filter((row) => rangeCrc(row) !== row.crc)
  if (damaged.length > 0)
    log.transaction(() => {
      for (const { id } of damaged) log.deleteRange(id)
    })
  return rows.filter((row) => !damaged.includes(row))
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

function rebuild(log: LogState, state: StreamState, from: number, to: number): void {
  const start = rowKey(state.number, 0)
  const rows = log.database
    .prepare('SELECT key, count FROM segment WHERE key >= ? AND key < ? ORDER BY key LIMIT ?')
    .all(start + from, start + to, limits.chunksPerSeal)
  const builder = new IndexBuilder(from)
  let next = from
  for (const row of rows) {
    const end = Number(row['key']) - start + Number(row['count'])
    for (const frame of framesBetween(log.database, state.number, next, end)) builder.add(frame)
    next = end
  }
  const { bits, rows: postings } = builder.finish()
  log.transaction(() => log.insertRange(state.number, from, next - from, bits, postings))
}
