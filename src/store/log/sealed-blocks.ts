import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../limits.ts'
import { LruCache } from './lru.ts'
import { rowKey, type StreamNumber } from './row-key.ts'
import type { SealedBlock } from './sealed-block.ts'
import { blockOf } from './segment.ts'
import { blockColumns, numberedBlock, placeColumns } from './segment-columns.ts'
import { checkSegmentRow, type SegmentRow } from './segment-row.ts'

/** The blocks of a segment that were read ahead, as they are stored. */
interface Ahead {
  readonly key: number
  readonly blocks: Readonly<Record<string, unknown>>
}

/** Reads blocks of segments, and keeps those that were used last. */
export class SealedBlocks {
  readonly #place: StatementSync
  readonly #block: StatementSync
  readonly #allBlocks: StatementSync
  readonly #cache = new LruCache<number, SealedBlock>(limits.blockCacheBytes)
  /** The segment that was read last. */
  #segment: SegmentRow | undefined
  /** The key after the block that was read last. */
  #next = -1
  #ahead: Ahead | undefined

  constructor(database: DatabaseSync) {
    this.#place = database.prepare(`SELECT ${placeColumns} FROM segment WHERE key <= ? ORDER BY key DESC LIMIT 1`)
    this.#block = database.prepare(`SELECT ${numberedBlock} FROM segment WHERE key = ?1`)
    this.#allBlocks = database.prepare(`SELECT ${blockColumns.join(', ')} FROM segment WHERE key = ?`)
  }

  clear(): void {
    this.#cache.clear()
    this.#segment = undefined
    this.#ahead = undefined
  }

  /** The block that holds an event of a stream; nothing when it is not sealed, or was pruned. */
  at(stream: StreamNumber, key: number): SealedBlock | undefined {
    const segment = this.#segmentAt(stream, key)
    if (segment === undefined) return undefined
    const index = Math.floor((key - segment.key) / segment.size)
    const first = segment.key + index * segment.size
    const known = this.#cache.get(first)
    if (known !== undefined) return known
    const row = this.#read(segment, index, first)
    if (row === undefined) return undefined
    const block = blockOf(segment, index, row)
    this.#next = first + block.count
    this.#cache.set(first, block, block.bytes.length + 24 * block.count)
    return block
  }

  #segmentAt(stream: StreamNumber, key: number): SegmentRow | undefined {
    if (this.#segment !== undefined && holds(this.#segment, key)) return this.#segment
    const row = this.#place.get(key) as unknown as SegmentRow | undefined
    if (row === undefined || !holds(row, key) || row.key < rowKey(stream, 0)) return undefined
    checkSegmentRow(row)
    this.#segment = row
    return row
  }

  /** What stands in the column of a block. Whoever reads one block after the other gets all of a segment at once. */
  #read({ key }: SegmentRow, index: number, first: number): unknown {
    if (this.#ahead?.key === key) return this.#ahead.blocks[`block${index}`]
    if (first !== this.#next) return this.#block.get(key, index)?.['block']
    const blocks = this.#allBlocks.get(key)
    this.#ahead = blocks && { key, blocks }
    return blocks?.[`block${index}`]
  }
}

function holds({ key: first, count }: SegmentRow, key: number): boolean {
  return first <= key && key < first + count
}
