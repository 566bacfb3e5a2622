import { assert } from '../../assert.ts'
import { ByteWriter, type Frame } from '../../protocol/index.ts'
import { writeColumn } from './column.ts'
import type { KnownLabel, KnownLabels } from './known-labels.ts'
import { LineStarts, lineEnd, middleBytes } from './line.ts'

/** Gathers events of frames into the bytes of one block of a stream. */
export class BlockBuilder {
  readonly #middle: number
  readonly #starts: LineStarts
  readonly #known: KnownLabels
  #lamports: number[] = []
  #times: number[] = []
  #labelOf: number[] = []
  /** The labels of the block, each with its number. */
  readonly #labels = new Map<KnownLabel, number>()
  /** Those that no line has. */
  readonly #unread = new Set<KnownLabel>()
  /** Of the lines; 0 where the payload was removed. */
  #lengths: number[] = []
  readonly #lines = new ByteWriter(64 * 1024)
  readonly #block = new ByteWriter(64 * 1024)

  constructor(streamId: string, known: KnownLabels) {
    this.#middle = middleBytes(streamId)
    this.#starts = new LineStarts(streamId)
    this.#known = known
  }

  get count(): number {
    return this.#lamports.length
  }

  get bytes(): number {
    return this.#lines.length
  }

  /** Adds an event; answers what its labels are. */
  add(frame: Frame, index: number): KnownLabel {
    const { bytes, lamports, times, labels, payloads } = frame
    const lamport = lamports[index] as number
    const time = times[index] as number
    const label = this.#known.of(bytes, labels[2 * index] as number, labels[2 * index + 1] as number)
    this.#lamports.push(lamport)
    this.#times.push(time)
    const start = payloads[2 * index] as number
    const end = payloads[2 * index + 1] as number
    this.#labelOf.push(this.#number(label, start < 0))
    const lineAt = this.#lines.length
    if (start >= 0) {
      this.#lines.bytes(this.#starts.of(lamport, frame.first + index, time))
      this.#lines.bytes(label.json).bytes(bytes, start, end).bytes(lineEnd)
    }
    this.#lengths.push(this.#lines.length - lineAt)
    return label
  }

  /** The bytes of the block, good until the next one is finished; the builder is empty again. */
  finish(): Buffer {
    const count = this.#lamports.length
    assert(count > 0, 'a block holds events')
    const writer = this.#block.clear().uvarint(count)
    writer.uvarint(this.#middle)
    // What every reader needs stands first.
    writeColumn(writer, this.#lamports)
    writeColumn(writer, this.#lengths)
    writer.bytes(this.#lines.written)
    writeColumn(writer, this.#times)
    writer.uvarint(this.#labels.size)
    writeColumn(
      writer,
      Array.from(this.#labels.keys(), ({ json }) => json.length),
    )
    writeColumn(writer, this.#labelOf)
    for (const [label] of this.#labels) if (this.#unread.has(label)) writer.bytes(label.json)
    this.#lamports = []
    this.#times = []
    this.#labelOf = []
    this.#lengths = []
    this.#labels.clear()
    this.#unread.clear()
    this.#lines.clear()
    return writer.written
  }

  #number(label: KnownLabel, removed: boolean): number {
    const known = this.#labels.get(label)
    if (known === undefined && removed) this.#unread.add(label)
    else if (!removed) this.#unread.delete(label)
    if (known !== undefined) return known
    this.#labels.set(label, this.#labels.size)
    return this.#labels.size - 1
  }
}
