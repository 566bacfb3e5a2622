import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { limits } from '../../limits.ts'
import { ByteReader, type Frame, type Hash, readFrame } from '../../protocol/index.ts'
import { checksum, DamagedData } from './checksum.ts'

/** What one commit added to one stream: its frames as they came, until they are sealed. All of them are of one chunk. */
export interface TailRow {
  readonly key: number
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** The hash of the chain after the last frame. */
  readonly hash: Uint8Array
  /** Bytes of the records before compression. */
  readonly raw: number
  readonly crc: number
  readonly body: Uint8Array
}

const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function tailRow(key: number, count: number, lamport: number, hash: Hash, records: Uint8Array): TailRow {
  const raw = records.length
  const packed = raw < limits.compressFromBytes ? records : compress(records)
  const body = packed.length < raw ? packed : records
  const row = { key, count, lamport, hash: Buffer.from(hash, 'latin1'), raw, body }
  return { ...row, crc: crcOf(row) }
}

/** Not by the limit, which may be another one by now. */
export function isCompressed({ body, raw }: TailRow): boolean {
  return body.length !== raw
}

/** The records of a row, if it is as it was written. */
export function recordsOf(row: TailRow): Buffer {
  if (crcOf(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the tail is damaged`)
  return decompress(row.body, row.raw, isCompressed(row))
}

export function framesOf(row: TailRow): Frame[] {
  const reader = new ByteReader(recordsOf(row))
  const frames: Frame[] = []
  while (reader.remaining > 0) frames.push(readFrame(reader))
  return frames
}

/** With the size known, decompressing needs one piece of memory. */
export function decompress(body: Uint8Array, raw: number, compressed: boolean): Buffer {
  if (!compressed) return Buffer.from(body.buffer, body.byteOffset, body.length)
  const bytes = zstdDecompressSync(body, { chunkSize: Math.max(64, raw + 64), maxOutputLength: raw + 64 })
  if (bytes.length !== raw) throw new DamagedData('decompressed bytes have another size')
  return bytes
}

export function compress(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, level)
}

function crcOf({ key, count, lamport, hash, raw, body }: Omit<TailRow, 'crc'>): number {
  return checksum(body, key, count, lamport, raw) ^ checksum(hash, 1)
}
