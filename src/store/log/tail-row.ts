import { limits } from '../../limits.ts'
import { ByteReader, type ByteWriter, type Frame, type Hash, readFrame } from '../../protocol/index.ts'
import { checksum, DamagedData } from './checksum.ts'
import { compress, decompress, roomFor } from './zstd.ts'

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

/** A row for these records; its body is good until the next row is made, or they are others. */
export function tailRow(key: number, count: number, lamport: number, hash: Hash, records: Uint8Array): TailRow {
  const raw = records.length
  const packed = raw < limits.compressFromBytes ? records : compress(records)
  const body = packed.length < raw ? packed : records
  const row = { key, count, lamport, hash: Buffer.from(hash, 'latin1'), raw, body }
  return { ...row, crc: crcOf(row) }
}

/** Not by the limit, which may be another one by now. */
function isCompressed({ body, raw }: TailRow): boolean {
  return body.length !== raw
}

/** The records of a row, if it is as it was written, in the room for them if there is one. */
export function recordsOf(row: TailRow, into?: ByteWriter): Buffer {
  if (crcOf(row) !== row.crc) throw new DamagedData(`the row ${row.key} of the tail is damaged`)
  const { body, raw } = row
  if (isCompressed(row)) return decompress(body, raw, into?.more(roomFor(raw)))
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  if (into === undefined) return bytes
  const copy = into.more(raw)
  bytes.copy(copy)
  return copy
}

export function framesOf(row: TailRow, into?: ByteWriter): Frame[] {
  const reader = new ByteReader(recordsOf(row, into))
  const frames: Frame[] = []
  while (reader.remaining > 0) frames.push(readFrame(reader))
  return frames
}

function crcOf({ key, count, lamport, hash, raw, body }: Omit<TailRow, 'crc'>): number {
  return checksum(body, key, count, lamport, raw) ^ checksum(hash, 1)
}
