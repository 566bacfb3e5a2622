import { tuning } from '../../../base/tuning.ts'
import { ByteReader, type Frame, type Hash, hashLength, readFrame } from '../../../protocol/index.ts'
import { hashThrough } from '../../../replication/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { checksum, DamagedData } from './checksum.ts'
import { compress, decompress } from './zstd.ts'

/** What one commit added to one stream: its frames as they came, until they are sealed. All of them are of one chunk. */
export interface TailRow {
  readonly key: number
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** What it says of the chain, see `ChainPoint`. */
  readonly hash: Uint8Array
  /** Bytes of the records before compression. */
  readonly raw: number
  readonly crc: number
  readonly body: Uint8Array
}

/**
 * A hash of the chain of which a row says that it is the one after it; or the one before it, where the one after it is made
 * later. Then it stands behind a mark.
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

/** The hash of the chain after a row, if it is as it was written. */
export function hashAfterRow(row: TailRow): Hash {
  const records = recordsOf(row)
  const { is, hash } = chainPointOf(row)
  return is === 'after' ? hash : hashThrough(framesIn(records), hash)
}

/** A row for these records; its body is good until the next row is made, or they are others. */
export function tailRow(key: number, count: number, lamport: number, point: ChainPoint, records: Uint8Array): TailRow {
  const raw = records.length
  const packed = raw < tuning.compressFromBytes ? records : compress(records)
  const body = packed.length < raw ? packed : records
  const row = { key, count, lamport, hash: encodePoint(point), raw, body }
  return { ...row, crc: crcOf(row) }
}

/** Not by the limit, which may be another one by now. */
function isCompressed({ body, raw }: TailRow): boolean {
  return body.length !== raw
}

/** The records of a row, if it is as it was written. */
export function recordsOf(row: TailRow): Buffer {
  if (crcOf(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the tail is damaged`)
  const { body, raw } = row
  return isCompressed(row) ? decompress(body, raw) : Buffer.from(body.buffer, body.byteOffset, body.length)
}

/** The records of frames, one after the other. */
export function recordsOfFrames(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ bytes, record }) => bytes.subarray(...record)))
}

export function framesOf(row: TailRow): Frame[] {
  return framesIn(recordsOf(row))
}

/** The frames of a row that nobody looks at any more: the memory of its compressed records goes back at once. */
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

function crcOf({ key, count, lamport, hash, raw, body }: Omit<TailRow, 'crc'>): number {
  return checksum(body, key, count, lamport, raw) ^ checksum(hash, 1)
}
