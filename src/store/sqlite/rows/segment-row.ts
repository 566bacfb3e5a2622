import type { DatabaseSync } from 'node:sqlite'
import { checksum, DamagedData } from './checksum.ts'
import { padding } from './padding.ts'
import { blockColumns, placeColumns } from './segment-columns.ts'

/**
 * A segment: one chunk, sealed. Its events stand in blocks that are compressed and read one by one, so that reading one
 * event costs one block. What only matters for verifying (how the events were framed, their salts) stands apart from them.
 */
export interface SegmentParts {
  /** Events of each block; the last one may have fewer. */
  readonly size: number
  readonly framing: Buffer
  readonly blocks: readonly Buffer[]
}

/** What a segment is, without what is in it. It stays like that as long as the segment is there. */
export interface SegmentRow {
  readonly key: number
  readonly count: number
  /** Lamport timestamps of its first and last events. */
  readonly lamport: number
  readonly last: number
  /** Events of each of its blocks; the last one may have fewer. */
  readonly size: number
  readonly crc: number
}

/** A row with all of its columns. */
export type WholeSegmentRow = SegmentRow & Readonly<Record<string, number | Uint8Array | null>>

const mark = Buffer.from('segment')

function segmentCrc({ key, count, lamport, last, size }: Omit<SegmentRow, 'crc'>): number {
  // Neither is above 2^20.
  return checksum(mark, key, count * 2 ** 20 + size, lamport, last)
}

export function checkSegmentRow(row: SegmentRow): void {
  if (segmentCrc(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the segments is damaged`)
}

type SegmentPlace = Pick<SegmentRow, 'key' | 'count' | 'lamport' | 'last'>

/** Puts segments into the database. */
export function segmentInserter(database: DatabaseSync): (place: SegmentPlace, parts: SegmentParts) => void {
  const columns = `${placeColumns}, pad, framing, ${blockColumns.join(', ')}`
  const insert = database.prepare(`INSERT INTO segment (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`)
  return (place, { size, framing, blocks }) => {
    const { key, count, lamport, last } = place
    const numbers = [count, lamport, last, size, segmentCrc({ ...place, size })]
    const blobs = [framing, ...blockColumns.map((_, i) => blocks[i] ?? null)]
    insert.run(key, ...numbers, padding(numbers, blobs), ...blobs)
  }
}
