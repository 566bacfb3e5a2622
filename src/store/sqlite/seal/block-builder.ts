import { assert } from '../../../base/assert.ts'
import { ByteWriter, type Frame } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import type { IndexBuilder } from '../index/tag-index.ts'
import { BlockLabels } from '../read/block-labels.ts'
import { LineStarts, lineEnd, middleBytes } from '../read/event-line.ts'
import { writeLabelJson } from '../read/label-json.ts'
import { writeColumn } from '../rows/column.ts'

/** Where the JSON of labels stands that no line has. */
const unread = -1

/** Gathers events of frames into the bytes of one block of a stream. */
export class BlockBuilder {
  readonly #middle: number
  readonly #starts: LineStarts
  #count = 0
  #first = 0
  // Columns have their full length from the start: lists that grow would be made again for every block.
  readonly #lamports: Float64Array
  readonly #times: Float64Array
  readonly #labelOf: Uint16Array
  /** Of the lines; 0 where the payload was removed. */
  readonly #lengths: Int32Array
  readonly #labels: BlockLabels
  /** Where the JSON of each label begins in the lines, and how long it is. */
  readonly #jsonAt: Int32Array
  readonly #jsonLengths: Int32Array
  /** The JSON of labels that no line had when they came. */
  readonly #unread = new Map<number, Buffer>()
  readonly #lines = new ByteWriter(64 * 1024)
  readonly #block = new ByteWriter(64 * 1024)

  /** Makes blocks of at most so many events. */
  constructor(streamId: string, size: number) {
    this.#middle = middleBytes(streamId)
    this.#starts = new LineStarts(streamId)
    this.#lamports = new Float64Array(size)
    this.#times = new Float64Array(size)
    this.#labelOf = new Uint16Array(size)
    this.#lengths = new Int32Array(size)
    this.#labels = new BlockLabels(size)
    this.#jsonAt = new Int32Array(size)
    this.#jsonLengths = new Int32Array(size)
  }

  get count(): number {
    return this.#count
  }

  /** Adds an event, which follows the one before it. What the frame was read from stays as it is until the block is finished. */
  add(frame: Frame, index: number): void {
    const { bytes } = frame
    const offset = frame.first + index
    const lamport = frame.lamports[index] as number
    const time = frame.times[index] as number
    const labels = frame.labels[2 * index] as number
    const labelsEnd = frame.labels[2 * index + 1] as number
    const payload = frame.payloads[2 * index] as number
    const payloadEnd = frame.payloads[2 * index + 1] as number
    const at = this.#count++
    assert(at < this.#lamports.length, 'a block has room for its events')
    if (at === 0) this.#first = offset
    const known = this.#labels.count
    const label = this.#labels.numberOf(frame, labels, labelsEnd)
    this.#lamports[at] = lamport
    this.#times[at] = time
    this.#labelOf[at] = label
    const lines = this.#lines
    const lineAt = lines.length
    if (payload >= 0) {
      this.#starts.write(lines, lamport, offset, time)
      if (label < known && this.#jsonAt[label] !== unread)
        lines.again(this.#jsonAt[label] as number, this.#jsonLengths[label] as number)
      else this.#writeLabel(label, frame, labels, labelsEnd)
      lines.bytes(bytes, payload, payloadEnd).bytes(lineEnd)
    } else if (label >= known) this.#keepUnread(label, frame, labels, labelsEnd)
    this.#lengths[at] = lines.length - lineAt
  }

  /** Adds the events of the block to the index. */
  addTo(index: IndexBuilder): void {
    this.#labels.addTo(index, this.#first, this.#labelOf.subarray(0, this.#count))
  }

  /** The bytes of the block, good until the next one is finished; the builder is empty again. */
  finish(): Buffer {
    const count = this.#count
    assert(count > 0, 'a block holds events')
    const writer = this.#block.clear().uvarint(count)
    writer.uvarint(this.#middle)
    // What every reader needs stands first.
    writeColumn(writer, this.#lamports.subarray(0, count))
    writeColumn(writer, this.#lengths.subarray(0, count))
    writer.bytes(this.#lines.written)
    writeColumn(writer, this.#times.subarray(0, count))
    const labels = this.#labels.count
    writer.uvarint(labels)
    writeColumn(writer, this.#jsonLengths.subarray(0, labels))
    writeColumn(writer, this.#labelOf.subarray(0, count))
    // In the order of their numbers, as they came.
    for (const json of this.#unread.values()) writer.bytes(json)
    this.#count = 0
    this.#labels.clear()
    this.#unread.clear()
    this.#lines.clear()
    this.#starts.forget()
    return writer.written
  }

  /** Gives its memory back: nobody looks at what it has made any more. */
  leave(): void {
    release(this.#lines.written)
    release(this.#block.written)
  }

  /** Writes the JSON of labels that stands in no line yet. */
  #writeLabel(label: number, frame: Frame, start: number, end: number): void {
    const lines = this.#lines
    this.#jsonAt[label] = lines.length
    writeLabelJson(lines, frame, start, end)
    this.#jsonLengths[label] = lines.length - (this.#jsonAt[label] as number)
    if (this.#unread.size > 0) this.#unread.delete(label)
  }

  #keepUnread(label: number, frame: Frame, start: number, end: number): void {
    const writer = new ByteWriter(end - start + 64)
    writeLabelJson(writer, frame, start, end)
    this.#unread.set(label, writer.written)
    this.#jsonAt[label] = unread
    this.#jsonLengths[label] = writer.length
  }
}
