import { assert } from '../../../base/assert.ts'
import { ByteReader, ByteWriter, decodeLabels, type EventColumns, type Labels } from '../../../protocol/index.ts'
import type { LabelMatcher } from '../tag-index/label-matcher.ts'
import { writeLabelHashes } from '../tag-index/tag-index.ts'
import { lineEnd, linePrefix } from './event-line.ts'
import { writeLabelJson } from './label-json.ts'
import type { LabelledBlock } from './labelled-block.ts'

/** Initial capacity: number of lines, and their average size. */
const initialLines = 16
const averageLineBytes = 512

/** Memory of columns, per event and in total. */
const columnBytes = { perEvent: 32, total: 1024 } as const

export function heldBytesOf({ bytes, count }: EventColumns): number {
  return bytes.length + columnBytes.perEvent * count + columnBytes.total
}

/** A block of unsealed events. Lines are made on demand and cached, since several readers may follow a stream. */
export class TailBlock implements LabelledBlock {
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  readonly labelOf: Uint16Array
  readonly #streamId: string
  readonly #events: EventColumns
  /** Index of the first event of the block in `#events`. */
  readonly #start: number
  readonly #lines: ByteWriter
  /** Start and end of each line in `#lines`; both 0 before it is made. */
  readonly #spans: Int32Array

  /** The events from one offset to another, which is excluded. */
  constructor(events: EventColumns, streamId: string, [from, to]: readonly [number, number]) {
    this.first = from
    this.count = to - from
    this.#streamId = streamId
    this.#events = events
    this.#start = from - events.first
    // Often only the last few events are read.
    this.#lines = new ByteWriter(averageLineBytes * Math.min(this.count, initialLines))
    this.lamports = events.lamports.subarray(this.#start, this.#start + this.count)
    this.times = events.times.subarray(this.#start, this.#start + this.count)
    this.labelOf = new Uint16Array(this.count)
    for (let i = 0; i < this.count; i++) this.labelOf[i] = i
    this.#spans = new Int32Array(2 * this.count)
  }

  /** Includes the events: they may be shared with other blocks, but large ones are not. */
  get heldBytes(): number {
    return this.#lines.capacity + heldBytesOf(this.#events)
  }

  get labelCount(): number {
    return this.count
  }

  isRedacted(index: number): boolean {
    return this.#payload(index)[0] < 0
  }

  labels(index: number): Labels {
    return decodeLabels(new ByteReader(this.#events.bytes, ...this.#label(index)))
  }

  /** Writes the index hashes of the labels of an event to a list, from an index on. Returns the index after them. */
  writeLabelHashes(hashes: number[], at: number, index: number): number {
    return writeLabelHashes(hashes, at, this.#events.bytes, ...this.#label(index))
  }

  matches(index: number, matcher: LabelMatcher): boolean {
    return matcher.matchesBytes(this.#events.bytes, ...this.#label(index))
  }

  payload(index: number): string {
    return this.#events.bytes.toString('utf8', ...this.#payload(index))
  }

  lineBytes(from: number, to: number): number {
    let bytes = 0
    for (let i = from; i < to; i++) {
      const [start, end] = this.#line(i)
      bytes += end - start
    }
    return bytes
  }

  copyLines(from: number, to: number, target: Buffer, at: number): void {
    let length = at
    for (let i = from; i < to; i++) {
      const [start, end] = this.#line(i)
      length += this.#lines.written.copy(target, length, start, end)
    }
  }

  lineStartBytes(index: number): number {
    const [payload, payloadEnd] = this.#payload(index)
    const [start, end] = this.#line(index)
    assert(end > start, 'an event with a line')
    return end - start - (payloadEnd - payload) - lineEnd.length
  }

  copyLineStart(index: number, target: Buffer, at: number): void {
    const [start] = this.#line(index)
    this.#lines.written.copy(target, at, start, start + this.lineStartBytes(index))
  }

  /** Start and end of a line; empty for a removed event. */
  #line(index: number): readonly [number, number] {
    const spans = this.#spans
    if (spans[2 * index + 1] === 0 && !this.isRedacted(index)) {
      const writer = this.#lines
      spans[2 * index] = writer.length
      const [lamport, time] = [this.lamports[index] as number, this.times[index] as number]
      writer.latin1(linePrefix(this.#streamId, lamport, this.first + index, time))
      writeLabelJson(writer, this.#events, ...this.#label(index))
      writer.bytes(this.#events.bytes, ...this.#payload(index)).bytes(lineEnd)
      spans[2 * index + 1] = writer.length
    }
    return [spans[2 * index] as number, spans[2 * index + 1] as number]
  }

  #label(index: number): [number, number] {
    return spanOf(this.#events.labels, this.#start + index)
  }

  /** Start and end of a payload; the start is -1 if it was removed. */
  #payload(index: number): [number, number] {
    return spanOf(this.#events.payloads, this.#start + index)
  }
}

function spanOf(spans: Int32Array, index: number): [number, number] {
  return [spans[2 * index] as number, spans[2 * index + 1] as number]
}
