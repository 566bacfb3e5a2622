import { assert } from '../../../base/assert.ts'
import { format } from '../../../base/format.ts'
import { ByteReader, ByteWriter, type Frame } from '../../../protocol/index.ts'
import { unlessMalformed } from '../../../replication/index.ts'
import { SealedBlock } from '../read/sealed-block.ts'
import { BlockBuilder } from '../seal/block-builder.ts'
import type { IndexBuilder } from '../tag-index/tag-index.ts'
import { checksum, DamagedData } from './checksum.ts'
import { offsetOf } from './row-key.ts'
import { checkSegmentRow, type SegmentParts, type SegmentRow, type WholeSegmentRow } from './segment-row.ts'
import { compress, decompress } from './zstd.ts'

/** The boundaries and secrets of one frame. */
export interface Framing {
  readonly count: number
  /** The secrets of the frame's record, verbatim. */
  readonly secrets: Buffer
}

/** Events per block of a chunk, by their size, within the maximum number of blocks of a segment. */
export function blockSize(frames: readonly Frame[]): number {
  const count = frames.reduce((sum, frame) => sum + frame.count, 0)
  const bytes = frames.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  const fitting = Math.floor((format.blockBytes * count) / bytes)
  return Math.max(Math.ceil(count / format.blocksPerSegment), Math.min(format.eventsPerBlock, fitting))
}

/** Encodes a chunk as blocks of `size` events each, and adds the events to the index if one is given. */
export function encodeSegment(
  frames: readonly Frame[],
  streamId: string,
  size: number,
  index?: IndexBuilder,
): SegmentParts {
  const { first } = frames[0] as Frame
  const blocks: Buffer[] = []
  const builder = new BlockBuilder(streamId, size)
  const close = (): void => {
    const { count } = builder
    if (count === 0) return
    if (index !== undefined) builder.addTo(index)
    blocks.push(pack(builder.finish(), first + blocks.length * size, count))
  }
  for (const frame of frames)
    for (let i = 0; i < frame.count; i++) {
      builder.add(frame, i)
      if (builder.count === size) close()
    }
  close()
  builder.dispose()
  assert(blocks.length <= format.blocksPerSegment, 'each block of a segment has a column')
  return { size, framing: pack(encodeFraming(frames), first, 0), blocks }
}

/** The stored form of a part: its raw size, a checksum that covers its position, its compressed bytes. */
function pack(raw: Buffer, first: number, count: number): Buffer {
  const packed = compress(raw)
  return new ByteWriter(packed.length + 16)
    .uvarint(raw.length)
    .uvarint(checksum(packed, raw.length, first, count))
    .bytes(packed).written
}

function unpack(bytes: unknown, first: number, count: number): Buffer {
  if (!(bytes instanceof Uint8Array)) throw new DamagedData('a part of a segment is missing')
  const reader = new ByteReader(bytes)
  // They are read before they can be checked.
  const header = unlessMalformed(() => ({ raw: reader.uvarint(), crc: reader.uvarint() }))
  if (header === undefined) throw new DamagedData('the length or the checksum of a part of a segment is damaged')
  const { raw, crc } = header
  const packed = reader.buffer.subarray(reader.at)
  if (checksum(packed, raw, first, count) !== crc) throw new DamagedData('a part of a segment is damaged')
  return decompress(packed, raw)
}

/** Decodes a block of a segment from the bytes of its column. Throws if the bytes or the metadata are damaged. */
export function blockOf(
  { key, count, size }: Pick<SegmentRow, 'key' | 'count' | 'size'>,
  index: number,
  bytes: unknown,
): SealedBlock {
  const first = offsetOf(key) + index * size
  const events = Math.min(size, count - index * size)
  const block = new SealedBlock(unpack(bytes, first, events), first)
  if (block.count !== events) throw new DamagedData(`a block has ${block.count} events, expected ${events}`)
  return block
}

/** A segment that was read. Its parts are decompressed on demand. */
export class Segment {
  readonly first: number
  readonly #row: WholeSegmentRow

  constructor(row: WholeSegmentRow) {
    checkSegmentRow(row)
    this.#row = row
    this.first = offsetOf(row.key)
  }

  get count(): number {
    return this.#row.count
  }

  /** The block that contains an offset. */
  blockAt(offset: number): SealedBlock {
    const index = Math.floor((offset - this.first) / this.#row.size)
    return blockOf(this.#row, index, this.#row[`block${index}`])
  }

  framing(): Framing[] {
    return decodeFraming(unpack(this.#row['framing'], this.first, 0))
  }
}

function encodeFraming(frames: readonly Frame[]): Buffer {
  const writer = new ByteWriter(32 * frames.length).uvarint(frames.length)
  for (const { count, bytes, secrets } of frames) {
    const [start, end] = secrets
    writer
      .uvarint(count)
      .uvarint(end - start)
      .bytes(bytes, start, end)
  }
  return writer.written
}

function decodeFraming(bytes: Buffer): Framing[] {
  const reader = new ByteReader(bytes)
  const framing = Array.from({ length: reader.uvarint() }, () => ({
    count: reader.uvarint(),
    secrets: reader.bytes(reader.uvarint()),
  }))
  reader.finish()
  return framing
}
