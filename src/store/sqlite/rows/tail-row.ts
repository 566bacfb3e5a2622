import { tuning } from '../../../base/tuning.ts'
import {
  ByteReader,
  type EventColumns,
  type Frame,
  type Hash,
  hashLength,
  readEvents,
  readFrame,
} from '../../../protocol/index.ts'
import { hashThrough } from '../../../replication/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { checksum, DamagedData } from './checksum.ts'
import { offsetOf } from './row-key.ts'
import { compress, decompress } from './zstd.ts'

/** Unsealed events: one frame of an own stream, or the added frames of a received chunk. */
export interface TailRow {
  readonly key: number
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** A hash of the chain, see `ChainPoint`. */
  readonly hash: Uint8Array
  /** Bytes of the records before compression. */
  readonly raw: number
  readonly crc: number
  readonly body: Uint8Array
}

/**
 * The hash of the chain after a row; or, behind a marker byte, the one before it, if the hash after it was not computed
 * yet at the commit.
 */
export interface ChainPoint {
  readonly is: 'before' | 'after'
  readonly hash: Hash
}

const beforeMark = '\0'

function encodePoint({ is, hash }: ChainPoint): Uint8Array {
  return Buffer.from(is === 'before' ? beforeMark + hash : hash, 'latin1')
}

export function chainPointOf({ key, hash: bytes }: TailRow): ChainPoint {
  const hash = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  if (hash.length === hashLength) return { is: 'after', hash: hash as Hash }
  if (hash.length === beforeMark.length + hashLength && hash.startsWith(beforeMark))
    return { is: 'before', hash: hash.slice(beforeMark.length) as Hash }
  throw new DamagedData(`the row ${key} of the tail has no hash`)
}

/** The hash of the chain after a row. Throws if the row is damaged. */
export function hashAfterRow(row: TailRow): Hash {
  const records = recordsOf(row)
  const { is, hash } = chainPointOf(row)
  return is === 'after' ? hash : hashThrough(framesIn(records), hash)
}

/** A row with these records. Its body may share their memory. */
export function tailRow(key: number, count: number, lamport: number, point: ChainPoint, records: Uint8Array): TailRow {
  return packedRow({ key, count, lamport, raw: records.length, body: packRecords(records) }, point)
}

/** Records as they are stored: compressed if that saves space. */
export function packRecords(records: Uint8Array): Uint8Array {
  const packed = records.length < tuning.compressFromBytes ? records : compress(records)
  return packed.length < records.length ? packed : records
}

/** A row with packed records. */
export function packedRow(row: Omit<TailRow, 'hash' | 'crc'>, point: ChainPoint): TailRow {
  const hashed = { ...row, hash: encodePoint(point) }
  return { ...hashed, crc: tailCrc(hashed) }
}

/** Not decided by the threshold, which may have changed since the row was written. */
function isCompressed({ body, raw }: TailRow): boolean {
  return body.length !== raw
}

/** The records of a row. Throws if the row is damaged. */
export function recordsOf(row: TailRow): Buffer {
  if (tailCrc(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the tail is damaged`)
  const { body, raw } = row
  return isCompressed(row) ? decompress(body, raw) : Buffer.from(body.buffer, body.byteOffset, body.length)
}

/** The concatenated records of frames. */
export function recordsOfFrames(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ bytes, record }) => bytes.subarray(...record)))
}

export function framesOf(row: TailRow): Frame[] {
  return framesIn(recordsOf(row))
}

/** Takes the events of contiguous rows, and releases their compressed records, which must not be used afterwards. */
export function takeEvents(rows: readonly [TailRow, ...TailRow[]]): EventColumns {
  const records = rows.map((row) => recordsOf(row))
  for (const row of rows) if (isCompressed(row)) release(row.body)
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  const [bytes, ...others] = records as [Buffer, ...Buffer[]]
  return readEvents(others.length === 0 ? bytes : Buffer.concat(records), offsetOf(rows[0].key), count)
}

/** Takes the frames of a row, and releases its compressed records, which must not be used afterwards. */
export function takeFrames(row: TailRow): Frame[] {
  const frames = framesOf(row)
  if (isCompressed(row)) release(row.body)
  return frames
}

function framesIn(records: Buffer): Frame[] {
  const reader = new ByteReader(records)
  const frames: Frame[] = []
  while (reader.remaining > 0) frames.push(readFrame(reader))
  return frames
}

/** The checksum of a row, over all of its other columns. */
export function tailCrc({ key, count, lamport, hash, raw, body }: Omit<TailRow, 'crc'>): number {
  return checksum(body, key, count, lamport, raw) ^ checksum(hash, 1)
}
