import { ByteReader, ByteWriter, encodeLabelsExactly, type Frame, readFrame } from '../../protocol/index.ts'
import type { Block } from './block.ts'
import { DamagedData } from './checksum.ts'
import type { Segment } from './segment.ts'

/** The frames of a sealed chunk, put together again exactly as they were. */
export function framesOfSegment(segment: Segment): Frame[] {
  const events = new SegmentEvents(segment)
  const frames = segment.framing().map(({ count, secrets }) => {
    const first = segment.first + events.taken
    const taken = Array.from({ length: count }, () => events.next())
    return readFrame(new ByteReader(record(first, taken, secrets)))
  })
  if (events.taken !== segment.count) throw new DamagedData('a segment is framed in another way than its events')
  return frames
}

interface Place {
  readonly block: Block
  readonly index: number
}

class SegmentEvents {
  taken = 0
  readonly #segment: Segment
  #block: Block | undefined
  #blockIndex = -1

  constructor(segment: Segment) {
    this.#segment = segment
  }

  next(): Place {
    const offset = this.#segment.first + this.taken
    if (this.#block === undefined || offset >= this.#block.first + this.#block.count) {
      this.#blockIndex++
      this.#block = this.#segment.block(this.#blockIndex)
    }
    this.taken++
    return { block: this.#block, index: offset - this.#block.first }
  }
}

function record(first: number, events: readonly Place[], secrets: Buffer): Buffer {
  const head = new ByteWriter(64 * events.length).uvarint(first).uvarint(events.length)
  for (const { block, index } of events) {
    head.uvarint(block.lamports[index] as number).uvarint(block.times[index] as number)
    head.bytes(encodeLabelsExactly(block.labels.parsed(block.labelOf[index] as number)))
  }
  const writer = new ByteWriter(2 * head.length + 256 * events.length)
    .uvarint(head.length)
    .bytes(head.written)
    .bytes(secrets)
  const length = ({ block, index }: Place): number =>
    (block.payloads[2 * index] as number) < 0
      ? 0
      : (block.payloads[2 * index + 1] as number) - (block.payloads[2 * index] as number)
  for (const place of events) writer.uvarint(length(place))
  for (const place of events) {
    const start = place.block.payloads[2 * place.index] as number
    if (start >= 0) writer.bytes(place.block.bytes, start, start + length(place))
  }
  return writer.written
}
