import { assert } from '../../assert.ts'
import { release } from '../../memory.ts'
import { ByteWriter, type Frame } from '../../protocol/index.ts'
import { writeColumn } from './column.ts'
import type { KnownLabel, KnownLabels } from './known-labels.ts'
import { LineStarts, lineEnd, middleBytes } from './line.ts'

/** Gathers events of frames into the bytes of one block of a stream. */
export class BlockBuilder {
  readonly #middle: number
  readonly #starts: LineStarts
  readonly #known: KnownLabels
  #count = 0
  // Columns have their full length from the start: lists that grow would be made again for every block.
  readonly #lamports: Float64Array
  readonly #times: Float64Array
  readonly #labelOf: Uint16Array
  /** Of the lines; 0 where the payload was removed. */
  readonly #lengths: Int32Array
  /** The labels of the block, each with its number. */
  readonly #labels = new Map<KnownLabel, number>()
  /** Those that no line has. */
  readonly #unread = new Set<KnownLabel>()
  readonly #lines = new ByteWriter(64 * 1024)
  readonly #block = new ByteWriter(64 * 1024)

  /** Makes blocks of at most so many events. */
  constructor(streamId: string, known: KnownLabels, size: number) {
    this.#middle = middleBytes(streamId)
    this.#starts = new LineStarts(streamId)
    this.#known = known
    this.#lamports = new Float64Array(size)
    this.#times = new Float64Array(size)
    this.#labelOf = new Uint16Array(size)
    this.#lengths = new Int32Array(size)
  }

  get count(): number {
    return this.#count
  }

  /** Adds an event; answers what its labels are. */
  add(frame: Frame, index: number): KnownLabel {
    const { bytes, lamports, times, labels, payloads } = frame
    const at = this.#count++
    assert(at < this.#lamports.length, 'a block has room for its events')
    const lamport = lamports[index] as number
    const time = times[index] as number
    const label = this.#known.of(bytes, labels[2 * index] as number, labels[2 * index + 1] as number)
    const start = payloads[2 * index] as number
    const end = payloads[2 * index + 1] as number
    this.#lamports[at] = lamport
    this.#times[at] = time
    this.#labelOf[at] = this.#number(label, start < 0)
    const lines = this.#lines
    const lineAt = lines.length
    if (start >= 0)
      lines
        .bytes(this.#starts.of(lamport, frame.first + index, time))
        .bytes(label.json)
        .bytes(bytes, start, end)
        .bytes(lineEnd)
    this.#lengths[at] = lines.length - lineAt
    return label
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
    writer.uvarint(this.#labels.size)
    writeColumn(
      writer,
      Array.from(this.#labels.keys(), ({ json }) => json.length),
    )
    writeColumn(writer, this.#labelOf.subarray(0, count))
    for (const [label] of this.#labels) if (this.#unread.has(label)) writer.bytes(label.json)
    this.#count = 0
    this.#labels.clear()
    this.#unread.clear()
    this.#lines.clear()
    return writer.written
  }

  /** Gives its memory back: nobody looks at what it has made any more. */
  leave(): void {
    release(this.#lines.written)
    release(this.#block.written)
  }

  #number(label: KnownLabel, removed: boolean): number {
    const known = this.#labels.get(label)
    if (known === undefined && removed) this.#unread.add(label)
    else if (!removed && this.#unread.size > 0) this.#unread.delete(label)
    if (known !== undefined) return known
    this.#labels.set(label, this.#labels.size)
    return this.#labels.size - 1
  }
}
