import { ByteReader, ByteWriter, encodeLabelsExactly, type Frame, readFrame } from '../../../protocol/index.ts'
import type { SealedBlock } from '../read/sealed-block.ts'
import { DamagedData } from './checksum.ts'
import type { Segment } from './segment.ts'

/** Rebuilds the frames of a sealed chunk, byte for byte. */
export function framesOfSegment(segment: Segment): Frame[] {
  const events = new SegmentEvents(segment)
  const frames = segment.framing().map(({ count, secrets }) => {
    const first = segment.first + events.taken
    const taken = Array.from({ length: count }, () => events.next())
    return readFrame(new ByteReader(record(first, taken, secrets)))
  })
  if (events.taken !== segment.count)
    throw new DamagedData(`the frames of a segment have ${events.taken} events, expected ${segment.count}`)
  return frames
}

interface Place {
  readonly block: SealedBlock
  readonly index: number
}

class SegmentEvents {
  taken = 0
  readonly #segment: Segment
  #block: SealedBlock | undefined

  constructor(segment: Segment) {
    this.#segment = segment
  }

  next(): Place {
    const offset = this.#segment.first + this.taken
    if (this.#block === undefined || offset >= this.#block.first + this.#block.count)
      this.#block = this.#segment.blockAt(offset)
    this.taken++
    return { block: this.#block, index: offset - this.#block.first }
  }
}

function record(first: number, events: readonly Place[], secrets: Buffer): Buffer {
  const head = new ByteWriter(64 * events.length).uvarint(first).uvarint(events.length)
  for (const { block, index } of events) {
    head.uvarint(block.lamports[index] as number).uvarint(block.times[index] as number)
    head.bytes(encodeLabelsExactly(block.labels(index)))
  }
  const writer = new ByteWriter(2 * head.length + 256 * events.length)
    .uvarint(head.length)
    .bytes(head.written)
    .bytes(secrets)
  const spans = events.map(({ block, index }) => block.payloadSpan(index))
  for (const [start, end] of spans) writer.uvarint(end - start)
  for (const [i, [start, end]] of spans.entries()) writer.bytes((events[i] as Place).block.bytes, start, end)
  return writer.written
}
