import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { format } from '../../../base/format.ts'
import { LruCache } from '../../../base/lru-cache.ts'
import { tuning } from '../../../base/tuning.ts'
import type { Frame } from '../../../protocol/index.ts'
import { offsetOf, rowKey, streamOf } from '../rows/row-key.ts'
import { type TailRow, takeFrames } from '../rows/tail-row.ts'
import type { LabelledBlock } from './labelled-block.ts'
import { TailBlock } from './tail-block.ts'

/** Rows of the tail that follow each other, for about a block or for one large row. */
interface TailRun {
  readonly start: number
  /** The key after the last event. */
  readonly end: number
  readonly frames: readonly Frame[]
  /** Those blocks of it that were made, by the key of their first event. */
  readonly blocks: Map<number, TailBlock>
}

/** Events that are read together for whoever goes backwards: they may be rows each, and often the last few are enough. */
const eventsBack = { first: 12, most: format.eventsPerBlock } as const

/** What the objects of a frame take, however small it is: those who follow a stream look at each event in a run of its own. */
const bytesPerFrame = 4096

/** Reads blocks of events that are not sealed yet, and keeps those that were used last. */
export class TailBlocks {
  readonly #place: StatementSync
  readonly #before: StatementSync
  readonly #rows: StatementSync
  readonly #runs = new LruCache<number, TailRun>(tuning.tailCacheBytes)
  /** The run that was used last: whoever looks at large ones does so block by block. */
  #last: TailRun | undefined
  /** Where the last run began that was read backwards, and how many events it was to have. */
  #back = { start: -1, events: 0 }

  constructor(database: DatabaseSync) {
    const columns = 'key, count, lamport, hash, raw, crc, body'
    this.#place = database.prepare('SELECT key FROM tail WHERE key <= ? ORDER BY key DESC LIMIT 1')
    // A row that holds the event may begin long before it.
    const start = 'min(?1, (SELECT max(key) FROM tail WHERE key <= ?2))'
    this.#before = database.prepare(`SELECT ${columns} FROM tail WHERE key >= ${start} AND key <= ?2 ORDER BY key DESC`)
    this.#rows = database.prepare(`SELECT ${columns} FROM tail WHERE key >= ? AND key < ? ORDER BY key`)
  }

  clear(): void {
    this.#runs.clear()
    this.#last = undefined
  }

  /** The block that holds an event, for whoever goes up or down from there; nothing when it is not in the tail. */
  at(streamId: string, key: number, step: 1 | -1): LabelledBlock | undefined {
    const run = this.#known(key) ?? (step < 0 ? this.#runBefore(key) : undefined) ?? this.#runFrom(key)
    // Between two looks at the database the rows may have been sealed or pruned; those that are left come after the event.
    if (run === undefined || run.start > key || run.end <= key) return undefined
    this.#last = run
    const { start, end, frames, blocks } = run
    const size = format.eventsPerBlock
    const isSmall = end - start < 2 * size
    const from = isSmall ? start : start + Math.floor((key - start) / size) * size
    const known = blocks.get(from)
    if (known !== undefined) return known
    const to = isSmall ? end : Math.min(end, from + size)
    const block = new TailBlock(frames, streamId, [offsetOf(from), offsetOf(from) + to - from])
    blocks.set(from, block)
    return block
  }

  #known(key: number): TailRun | undefined {
    const last = this.#last
    return last !== undefined && last.start <= key && key < last.end ? last : this.#runs.get(key)
  }

  /** Rows from the one on that holds an event. */
  #runFrom(key: number): TailRun | undefined {
    const start = this.#place.get(key)?.['key'] as number | undefined
    if (start === undefined || streamOf(start) !== streamOf(key)) return undefined
    return this.#runs.get(start) ?? this.#read(start, rowKey(streamOf(key) + 1, 0))
  }

  /** A large row that holds an event, or small ones up to it; nothing when there are none before it. */
  #runBefore(key: number): TailRun | undefined {
    // Whoever goes on gets twice as many.
    const events = key + 1 === this.#back.start ? Math.min(2 * this.#back.events, eventsBack.most) : eventsBack.first
    const from = Math.max(key + 1 - events, rowKey(streamOf(key), 0))
    const rows = upToBlock(this.#before.iterate(from, key)).reverse()
    const last = rows.at(-1)
    if (last === undefined || last.key + last.count <= key) return undefined
    const run = (last.key < from ? this.#runs.get(last.key) : undefined) ?? this.#run(rows)
    if (run === undefined || run.end <= key) return undefined
    this.#back = { start: run.start, events }
    return run
  }

  /** Rows that begin between two keys, as many as make about a block; nothing when there are none. */
  #read(from: number, to: number): TailRun | undefined {
    return this.#run(upToBlock(this.#rows.iterate(from, Math.min(to, from + format.eventsPerBlock))))
  }

  /** As far as one row follows the other. */
  #run(rows: readonly TailRow[]): TailRun | undefined {
    if (rows[0] === undefined) return undefined
    const start = rows[0].key
    const frames: Frame[] = []
    let end = start
    let bytes = 0
    for (const row of rows) {
      if (row.key !== end) break
      frames.push(...takeFrames(row))
      end = row.key + row.count
      bytes += row.raw
    }
    const run = { start, end, frames, blocks: new Map() }
    // Once more for the lines.
    this.#runs.set(start, run, 2 * bytes + bytesPerFrame * frames.length)
    return run
  }
}

/**
 * The first rows of a result, until they have the bytes of a block: 128 events can have 8 MiB each, and what a run holds is
 * copied into one piece of output.
 */
function upToBlock(result: Iterable<unknown>): TailRow[] {
  const rows: TailRow[] = []
  let bytes = 0
  for (const row of result as Iterable<TailRow>) {
    rows.push(row)
    bytes += row.raw
    if (bytes >= format.blockBytes) break
  }
  return rows
}
