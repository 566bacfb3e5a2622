import { assert } from '../../../base/assert.ts'
import { ByteReader, ByteWriter, decodeLabels, type Frame, type Labels } from '../../../protocol/index.ts'
import type { LabelMatcher } from '../tag-index/label-matcher.ts'
import { lineEnd, linePrefix } from './event-line.ts'
import { writeLabelJson } from './label-json.ts'
import type { LabelledBlock } from './labelled-block.ts'

/** Initial capacity: number of lines, and their average size. */
const initialLines = 16
const averageLineBytes = 512

/** A block of unsealed events. Lines are made on demand and cached, since several readers may follow a stream. */
export class TailBlock implements LabelledBlock {
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  readonly labelOf: Uint16Array
  readonly #streamId: string
  /** For each event, the frame that it is in. */
  readonly #frames: readonly Frame[]
  readonly #lines: ByteWriter
  /** Start and end of each line in `#lines`; both 0 before it is made. */
  readonly #spans: Int32Array

  /** The events of frames from one offset to another, which is excluded. */
  constructor(frames: readonly Frame[], streamId: string, [from, to]: readonly [number, number]) {
    this.first = from
    this.count = to - from
    this.#streamId = streamId
    // Often only the last few events are read.
    this.#lines = new ByteWriter(averageLineBytes * Math.min(this.count, initialLines))
    this.lamports = new Float64Array(this.count)
    this.times = new Float64Array(this.count)
    this.labelOf = new Uint16Array(this.count)
    for (let i = 0; i < this.count; i++) this.labelOf[i] = i
    this.#spans = new Int32Array(2 * this.count)
    const frameOf: Frame[] = []
    for (const frame of frames) {
      const end = Math.min(frame.count, to - frame.first)
      for (let i = Math.max(0, from - frame.first); i < end; i++) {
        this.lamports[frameOf.length] = frame.lamports[i] as number
        this.times[frameOf.length] = frame.times[i] as number
        frameOf.push(frame)
      }
    }
    this.#frames = frameOf
  }

  /** Includes the frames: they may be shared with other blocks, but large ones are not. */
  get heldBytes(): number {
    let bytes = this.#lines.capacity
    let last: Frame | undefined
    for (const frame of this.#frames) {
      if (frame !== last) bytes += frame.bytes.length
      last = frame
    }
    return bytes
  }

  get labelCount(): number {
    return this.count
  }

  isRedacted(index: number): boolean {
    const frame = this.#frame(index)
    return (frame.payloads[2 * (this.first + index - frame.first)] as number) < 0
  }

  labels(index: number): Labels {
    return decodeLabels(new ByteReader(this.#frame(index).bytes, ...this.#label(index)))
  }

  matches(index: number, matcher: LabelMatcher): boolean {
    return matcher.matchesBytes(this.#frame(index).bytes, ...this.#label(index))
  }

  payload(index: number): string {
    return this.#frame(index).bytes.toString('utf8', ...this.#payload(index))
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
      const frame = this.#frame(index)
      const writer = this.#lines
      spans[2 * index] = writer.length
      const [lamport, time] = [this.lamports[index] as number, this.times[index] as number]
      writer.latin1(linePrefix(this.#streamId, lamport, this.first + index, time))
      writeLabelJson(writer, frame, ...this.#label(index))
      writer.bytes(frame.bytes, ...this.#payload(index)).bytes(lineEnd)
      spans[2 * index + 1] = writer.length
    }
    return [spans[2 * index] as number, spans[2 * index + 1] as number]
  }

  #frame(index: number): Frame {
    return this.#frames[index] as Frame
  }

  #label(index: number): [number, number] {
    return spanOf(this.#frame(index).labels, this.first + index - this.#frame(index).first)
  }

  /** Start and end of a payload; the start is -1 if it was removed. */
  #payload(index: number): [number, number] {
    return spanOf(this.#frame(index).payloads, this.first + index - this.#frame(index).first)
  }
}

function spanOf(spans: Int32Array, index: number): [number, number] {
  return [spans[2 * index] as number, spans[2 * index + 1] as number]
}
