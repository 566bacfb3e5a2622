import type { DatabaseSync } from 'node:sqlite'
import { checksum, DamagedData } from './checksum.ts'
import { padding } from './padding.ts'
import { blockColumns, metadataColumns } from './segment-columns.ts'

/**
 * A segment: one sealed chunk. Its events are in blocks that are compressed separately, so that reading an event costs
 * one block. Data that only verification needs (frame boundaries, salts) is kept apart from them.
 */
export interface SegmentParts {
  /** Events per block; the last one may have fewer. */
  readonly size: number
  readonly framing: Buffer
  readonly blocks: readonly Buffer[]
}

/** The metadata of a segment, which never changes. */
export interface SegmentRow {
  readonly key: number
  readonly count: number
  /** Lamport timestamps of its first and last events. */
  readonly lamport: number
  readonly last: number
  /** Events per block; the last one may have fewer. */
  readonly size: number
  readonly crc: number
}

/** A row with all of its columns. */
export type WholeSegmentRow = SegmentRow & Readonly<Record<string, number | Uint8Array | null>>

const crcDomain = Buffer.from('segment')

export function segmentCrc({ key, count, lamport, last, size }: Omit<SegmentRow, 'crc'>): number {
  // Count and size are below 2^20.
  return checksum(crcDomain, key, count * 2 ** 20 + size, lamport, last)
}

export function checkSegmentRow(row: SegmentRow): void {
  if (segmentCrc(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the segments is damaged`)
}

type SegmentMetadata = Pick<SegmentRow, 'key' | 'count' | 'lamport' | 'last'>

/** Returns a function that inserts segments. */
export function segmentInserter(database: DatabaseSync): (place: SegmentMetadata, parts: SegmentParts) => void {
  const columns = `${metadataColumns}, pad, framing, ${blockColumns.join(', ')}`
  const insert = database.prepare(`INSERT INTO segment (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`)
  return (place, { size, framing, blocks }) => {
    const { key, count, lamport, last } = place
    const numbers = [count, lamport, last, size, segmentCrc({ ...place, size })]
    const blobs = [framing, ...blockColumns.map((_, i) => blocks[i] ?? null)]
    insert.run(key, ...numbers, padding(numbers, blobs), ...blobs)
  }
}
