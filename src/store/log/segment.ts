import { limits } from '../../limits.ts'
import { ByteReader, ByteWriter, type Frame } from '../../protocol/index.ts'
import { type Block, BlockBuilder, readBlock } from './block.ts'
import { checksum, DamagedData } from './checksum.ts'
import { type KnownLabel, KnownLabels } from './known-labels.ts'
import { compress, decompress } from './tail-row.ts'

/**
 * A segment: one chunk, sealed. Its events stand in blocks that are compressed one by one, so that reading one event
 * costs one block. What only matters for verifying (how the events were framed, their salts) stands apart from them.
 */
const version = 1

/** Where a part is within the bytes of a segment. */
interface Part {
  readonly at: number
  readonly size: number
  readonly raw: number
  readonly crc: number
}

interface BlockPart extends Part {
  readonly first: number
  readonly count: number
}

/** How the events of one frame were framed. */
export interface Framing {
  readonly count: number
  /** The secrets of the frame's record, as they are. */
  readonly secrets: Buffer
}

/** The bytes of a chunk; `each` is told what the labels of each event are. */
export function encodeSegment(
  frames: readonly Frame[],
  streamId: string,
  known = new KnownLabels(),
  each?: (label: KnownLabel) => void,
): Buffer {
  const blocks: { raw: Buffer; count: number }[] = []
  const builder = new BlockBuilder(streamId, known)
  const close = (): void => {
    const { count } = builder
    if (count > 0) blocks.push({ count, raw: builder.finish() })
  }
  for (const frame of frames)
    for (let i = 0; i < frame.count; i++) {
      const label = builder.add(frame, i)
      each?.(label)
      if (builder.count >= limits.eventsPerBlock || builder.bytes >= limits.blockBytes) close()
    }
  close()
  const framing = encodeFraming(frames)
  const parts = [{ count: 0, raw: framing }, ...blocks].map(({ count, raw }) => ({
    count,
    raw: raw.length,
    packed: compress(raw),
  }))
  const header = new ByteWriter(16 * parts.length).byte(version).uvarint(blocks.length)
  for (const { count, raw, packed } of parts)
    header
      .uvarint(count)
      .uvarint(raw)
      .uvarint(packed.length)
      .uvarint(checksum(packed, count, raw))
  const size = parts.reduce((sum, { packed }) => sum + packed.length, header.length + 8)
  const writer = new ByteWriter(size)
    .uvarint(header.length)
    .uvarint(checksum(header.written, header.length))
    .bytes(header.written)
  for (const { packed } of parts) writer.bytes(packed)
  return writer.written
}

/** A segment that was read; its parts are decompressed when they are asked for. */
export class Segment {
  readonly first: number
  readonly count: number
  readonly blocks: readonly BlockPart[]
  readonly #bytes: Buffer
  readonly #framing: Part

  constructor(bytes: Uint8Array, first: number) {
    const reader = new ByteReader(bytes)
    const headerLength = reader.uvarint()
    const crc = reader.uvarint()
    const start = reader.skip(headerLength)
    if (checksum(reader.buffer.subarray(start, reader.at), headerLength) !== crc)
      throw new DamagedData('the header of a segment is damaged')
    const header = new ByteReader(reader.buffer, start, reader.at)
    if (header.byte() !== version) throw new DamagedData('a segment is of an unknown version')
    const blocks: BlockPart[] = []
    const blockCount = header.uvarint()
    let at = reader.at
    let offset = first
    for (let i = 0; i <= blockCount; i++) {
      const count = header.uvarint()
      const raw = header.uvarint()
      const size = header.uvarint()
      blocks.push({ at, size, raw, crc: header.uvarint(), first: offset, count })
      at += size
      offset += count
    }
    if (at !== reader.end) throw new DamagedData('a segment has another length')
    const [framing, ...rest] = blocks as [BlockPart, ...BlockPart[]]
    this.#bytes = reader.buffer
    this.#framing = framing
    this.blocks = rest
    this.first = first
    this.count = offset - first
  }

  /** Which block holds an offset. */
  blockIndex(offset: number): number {
    let low = 0
    let high = this.blocks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.blocks[middle]?.first ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  block(index: number): Block {
    const part = this.blocks[index]
    if (part === undefined) throw new DamagedData('a block is missing')
    return readBlock(this.#part(part, part.count), part.first)
  }

  framing(): Framing[] {
    return decodeFraming(this.#part(this.#framing, 0))
  }

  #part({ at, size, raw, crc }: Part, count: number): Buffer {
    const packed = this.#bytes.subarray(at, at + size)
    if (checksum(packed, count, raw) !== crc) throw new DamagedData('a block is damaged')
    return decompress(packed, raw, true)
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
