import { assert } from '../../../base/assert.ts'
import { ByteWriter, type Frame } from '../../../protocol/index.ts'
import { release } from '../../../runtime/buffers.ts'
import { BlockLabels } from '../read/block-labels.ts'
import { LinePrefixes, lineEnd, middleBytes } from '../read/event-line.ts'
import { writeLabelJson } from '../read/label-json.ts'
import { writeColumn } from '../rows/column.ts'
import type { IndexBuilder } from '../tag-index/tag-index.ts'

/** Position of labels that are in no line. */
const notInLines = -1

/** Encodes events of a stream as blocks, one after the other. */
export class BlockBuilder {
  readonly #middle: number
  readonly #prefixes: LinePrefixes
  #count = 0
  #first = 0
  // Preallocated columns, reused for every block.
  readonly #lamports: Float64Array
  readonly #times: Float64Array
  readonly #labelOf: Uint16Array
  /** Lengths of the lines; 0 where the payload was redacted. */
  readonly #lengths: Int32Array
  readonly #labels: BlockLabels
  /** For each label: position of its JSON in the lines, and length. */
  readonly #jsonAt: Int32Array
  readonly #jsonLengths: Int32Array
  /** The JSON of labels that are in no line so far. */
  readonly #otherLabels = new Map<number, Buffer>()
  readonly #lines = new ByteWriter(64 * 1024)
  readonly #block = new ByteWriter(64 * 1024)

  /** `size` is the maximum number of events in a block. */
  constructor(streamId: string, size: number) {
    this.#middle = middleBytes(streamId)
    this.#prefixes = new LinePrefixes(streamId)
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

  /** Adds the next event. The bytes of the frame must not change until the block is finished. */
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
      this.#prefixes.write(lines, lamport, offset, time)
      if (label < known && this.#jsonAt[label] !== notInLines)
        lines.repeat(this.#jsonAt[label] as number, this.#jsonLengths[label] as number)
      else this.#writeLabel(label, frame, labels, labelsEnd)
      lines.bytes(bytes, payload, payloadEnd).bytes(lineEnd)
    } else if (label >= known) this.#keepOther(label, frame, labels, labelsEnd)
    this.#lengths[at] = lines.length - lineAt
  }

  /** Adds the events of the block to the index. */
  addTo(index: IndexBuilder): void {
    this.#labels.addTo(index, this.#first, this.#labelOf.subarray(0, this.#count))
  }

  /** The bytes of the block, valid until the next one is finished. Resets the builder. */
  finish(): Buffer {
    const count = this.#count
    assert(count > 0, 'a block holds events')
    const writer = this.#block.clear().uvarint(count)
    writer.uvarint(this.#middle)
    // Columns that every reader needs come first.
    writeColumn(writer, this.#lamports.subarray(0, count))
    writeColumn(writer, this.#lengths.subarray(0, count))
    writer.bytes(this.#lines.written)
    writeColumn(writer, this.#times.subarray(0, count))
    const labels = this.#labels.count
    writer.uvarint(labels)
    writeColumn(writer, this.#jsonLengths.subarray(0, labels))
    writeColumn(writer, this.#labelOf.subarray(0, count))
    // In the order of their numbers, in which they were inserted.
    for (const json of this.#otherLabels.values()) writer.bytes(json)
    this.#count = 0
    this.#labels.clear()
    this.#otherLabels.clear()
    this.#lines.clear()
    this.#prefixes.reset()
    return writer.written
  }

  /** Releases the memory of the builder and of the blocks that it returned. */
  dispose(): void {
    release(this.#lines.written)
    release(this.#block.written)
  }

  /** Writes the JSON of labels that are in no line so far. */
  #writeLabel(label: number, frame: Frame, start: number, end: number): void {
    const lines = this.#lines
    this.#jsonAt[label] = lines.length
    writeLabelJson(lines, frame, start, end)
    this.#jsonLengths[label] = lines.length - (this.#jsonAt[label] as number)
    if (this.#otherLabels.size > 0) this.#otherLabels.delete(label)
  }

  #keepOther(label: number, frame: Frame, start: number, end: number): void {
    const writer = new ByteWriter(end - start + 64)
    writeLabelJson(writer, frame, start, end)
    this.#otherLabels.set(label, writer.written)
    this.#jsonAt[label] = notInLines
    this.#jsonLengths[label] = writer.length
  }
}
