import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { format } from '../../../base/format.ts'
import { tuning } from '../../../base/tuning.ts'
import type { EventColumns } from '../../../protocol/index.ts'
import { offsetOf, rowKey, streamOf } from '../rows/row-key.ts'
import { type TailRow, takeEvents } from '../rows/tail-row.ts'
import { RangeCache } from './range-cache.ts'
import { heldBytesOf, TailBlock } from './tail-block.ts'

/** Consecutive rows of the tail: about one block of small ones, or one large one. */
interface TailRun {
  readonly start: number
  /** The key after the last event. */
  readonly end: number
  readonly events: EventColumns
  /** The blocks that were made of it, by the key of their first event. */
  readonly blocks: Map<number, TailBlock>
}

/** Read-ahead of backward reads in events, doubled with each step: each may be a row, and often a few are enough. */
const backwardEvents = { first: 12, max: format.eventsPerBlock } as const

/** Reads blocks of unsealed events, through a cache. */
export class TailBlocks {
  readonly #place: StatementSync
  readonly #before: StatementSync
  readonly #rows: StatementSync
  readonly #runs = new RangeCache<TailRun>(tuning.tailCacheBytes)
  /** The last used run: large ones are not cached, and are read block by block. */
  #last: TailRun | undefined
  /** Start of the last run that was read backwards, and its read-ahead. */
  #backward = { start: -1, events: 0 }

  constructor(database: DatabaseSync) {
    const columns = 'key, count, lamport, hash, raw, crc, body'
    this.#place = database.prepare('SELECT key FROM tail WHERE key <= ? ORDER BY key DESC LIMIT 1')
    // The row that contains the event may start long before it.
    const start = 'min(?1, (SELECT max(key) FROM tail WHERE key <= ?2))'
    this.#before = database.prepare(`SELECT ${columns} FROM tail WHERE key >= ${start} AND key <= ?2 ORDER BY key DESC`)
    this.#rows = database.prepare(`SELECT ${columns} FROM tail WHERE key >= ? AND key < ? ORDER BY key`)
  }

  set cacheBytes(bytes: number) {
    this.#runs.capacity = bytes
  }

  clear(): void {
    this.#runs.clear()
    this.#last = undefined
  }

  /** The block that contains an event, to read on in the direction of `step`; undefined if it is not in the tail. */
  at(streamId: string, key: number, step: 1 | -1): TailBlock | undefined {
    const run = this.#known(key) ?? (step < 0 ? this.#runBefore(key) : undefined) ?? this.#runFrom(key)
    // The rows may have been sealed or pruned between two statements; then the remaining rows start after the event.
    if (run === undefined || !contains(run, key)) return undefined
    this.#last = run
    const { start, end, events, blocks } = run
    const size = format.eventsPerBlock
    const isSmall = end - start < 2 * size
    const from = isSmall ? start : start + Math.floor((key - start) / size) * size
    const known = blocks.get(from)
    if (known !== undefined) return known
    const to = isSmall ? end : Math.min(end, from + size)
    const block = new TailBlock(events, streamId, [offsetOf(from), offsetOf(from) + to - from])
    blocks.set(from, block)
    return block
  }

  #known(key: number): TailRun | undefined {
    const last = this.#last
    return last !== undefined && contains(last, key) ? last : this.#runs.get(key)
  }

  /** A run that starts with the row that contains an event. */
  #runFrom(key: number): TailRun | undefined {
    const start = this.#place.get(key)?.['key'] as number | undefined
    if (start === undefined || streamOf(start) !== streamOf(key)) return undefined
    return this.#read(start, rowKey(streamOf(key) + 1, 0))
  }

  /** The large row that contains an event, or a run of small ones that ends with it; undefined when there is none. */
  #runBefore(key: number): TailRun | undefined {
    const { start, events: before } = this.#backward
    const events = key + 1 === start ? Math.min(2 * before, backwardEvents.max) : backwardEvents.first
    const from = Math.max(key + 1 - events, rowKey(streamOf(key), 0))
    const rows = upToBlock(this.#before.iterate(from, key)).reverse()
    const last = rows.at(-1)
    if (last === undefined || last.key + last.count <= key) return undefined
    const run = this.#run(rows)
    if (run === undefined || run.end <= key) return undefined
    this.#backward = { start: run.start, events }
    return run
  }

  /** A run of about one block, of rows that start between two keys; undefined when there are none. */
  #read(from: number, to: number): TailRun | undefined {
    return this.#run(upToBlock(this.#rows.iterate(from, Math.min(to, from + format.eventsPerBlock))))
  }

  /** A run of the leading rows that are contiguous. */
  #run(rows: readonly TailRow[]): TailRun | undefined {
    if (rows[0] === undefined) return undefined
    const start = rows[0].key
    const taken: [TailRow, ...TailRow[]] = [rows[0]]
    let end = start + rows[0].count
    for (const row of rows.slice(1)) {
      if (row.key !== end) break
      taken.push(row)
      end = row.key + row.count
    }
    const events = takeEvents(taken)
    const run = { start, end, events, blocks: new Map() }
    // Twice the bytes: events and lines.
    this.#runs.put(start, end - start, run, 2 * heldBytesOf(events))
    return run
  }
}

function contains({ start, end }: TailRun, key: number): boolean {
  return start <= key && key < end
}

/**
 * The first rows of a result, up to the size of a block: 128 events can have 8 MiB each, and a run is copied into one
 * piece of output.
 */
function upToBlock(result: IterableIterator<unknown>): TailRow[] {
  const rows: TailRow[] = []
  let bytes = 0
  try {
    for (const row of result as IterableIterator<TailRow>) {
      rows.push(row)
      bytes += row.raw
      if (bytes >= format.blockBytes) break
    }
  } finally {
    // A loop that fails in `next` ends nothing: the statement would keep its read transaction, and fail once more.
    result.return?.()
  }
  return rows
}
