import { assert } from '../../assert.ts'
import { ByteReader, ByteWriter, type Frame, type Labels, MalformedBytes } from '../../protocol/index.ts'
import { readColumn, writeColumn } from './column.ts'
import type { KnownLabel, KnownLabels } from './known-labels.ts'
import { parseLabelJson } from './label-json.ts'
import { digitsOf, endBytes, LineStarts, lamportAt, lineEnd, middleBytes, putDigits, timeKeyBytes } from './line.ts'

/**
 * Events in a form that is quick to read: columns of numbers, and the lines of JSON that are ready to be sent. An event
 * whose payload was removed has no line.
 */
export interface Block {
  /** Offset of the first event. */
  readonly first: number
  readonly count: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  /** For each event, which of the labels it has. */
  readonly labelOf: Uint16Array
  readonly labels: BlockLabels
  readonly bytes: Buffer
  /** Start and end of each payload in `bytes`; the start is -1 where it was removed. */
  readonly payloads: Int32Array
  /** Where each line starts in `bytes`, and where the last one ends. */
  readonly lines: Int32Array
}

/** The labels of a block: where their JSON is, and their parsed form once somebody asks for it. */
export class BlockLabels {
  readonly bytes: Buffer
  /** Start and end of each. */
  readonly spans: Int32Array
  readonly #parsed: (Labels | undefined)[] = []

  constructor(bytes: Buffer, spans: Int32Array) {
    this.bytes = bytes
    this.spans = spans
  }

  get count(): number {
    return this.spans.length / 2
  }

  parsed(index: number): Labels {
    const known = this.#parsed[index]
    if (known !== undefined) return known
    const labels = parseLabelJson(this.bytes, this.spans[2 * index] as number, this.spans[2 * index + 1] as number)
    this.#parsed[index] = labels
    return labels
  }
}

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
  #lengths: number[] = []
  readonly #lines = new ByteWriter(64 * 1024)

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
    this.#lengths.push(start < 0 ? 0 : end - start)
    if (start >= 0) {
      this.#lines.bytes(this.#starts.of(lamport, frame.first + index, time))
      this.#lines.bytes(label.json).bytes(bytes, start, end).bytes(lineEnd)
    }
    return label
  }

  /** The bytes of the block; the builder is empty again. */
  finish(): Buffer {
    const count = this.#lamports.length
    assert(count > 0, 'a block holds events')
    const writer = new ByteWriter(this.#lines.length + 24 * count).uvarint(count)
    writer.uvarint(this.#middle)
    writeColumn(writer, this.#lamports)
    writeColumn(writer, this.#times)
    writer.uvarint(this.#labels.size)
    writeColumn(
      writer,
      Array.from(this.#labels.keys(), ({ json }) => json.length),
    )
    writeColumn(writer, this.#labelOf)
    writeColumn(writer, this.#lengths)
    writer.bytes(this.#lines.written)
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

export function readBlock(bytes: Buffer, first: number): Block {
  const reader = new ByteReader(bytes)
  const count = reader.uvarint()
  const middle = reader.uvarint()
  const lamports = readColumn(reader, new Float64Array(count))
  const times = readColumn(reader, new Float64Array(count))
  const labelLengths = readColumn(reader, new Int32Array(reader.uvarint()))
  const labelOf = readColumn(reader, new Uint16Array(count))
  const lengths = readColumn(reader, new Int32Array(count))
  const payloads = new Int32Array(2 * count)
  const lines = new Int32Array(count + 1)
  const labels = new Int32Array(2 * labelLengths.length)
  let [lamportDigits, offsetDigits, timeDigits, time] = [1, 1, 1, 0]
  let at = reader.at
  for (let i = 0; i < count; i++) {
    lines[i] = at
    const length = lengths[i] as number
    const label = labelOf[i] as number
    if (length === 0) {
      payloads[2 * i] = -1
      payloads[2 * i + 1] = at
      continue
    }
    const lamport = lamports[i] as number
    lamportDigits = digitsOf(lamport, lamportDigits)
    offsetDigits = digitsOf(first + i, offsetDigits)
    if (times[i] !== time) {
      time = times[i] as number
      timeDigits = digitsOf(time, timeDigits)
    }
    const offsetAt = at + lamportAt + lamportDigits + middle
    putDigits(bytes, at + lamportAt, lamportDigits, lamport)
    putDigits(bytes, offsetAt, offsetDigits, first + i)
    const labelAt = offsetAt + offsetDigits + timeKeyBytes + timeDigits
    const payload = labelAt + (labelLengths[label] as number)
    if (labels[2 * label + 1] === 0) {
      labels[2 * label] = labelAt
      labels[2 * label + 1] = payload
    }
    payloads[2 * i] = payload
    payloads[2 * i + 1] = payload + length
    at = payload + length + endBytes
  }
  lines[count] = at
  // Labels of removed events only stand behind the lines.
  for (const [label, length] of labelLengths.entries()) {
    if (labels[2 * label + 1] !== 0) continue
    labels[2 * label] = at
    labels[2 * label + 1] = at += length
  }
  if (at !== bytes.length) throw new MalformedBytes('a block has another length')
  return { first, count, lamports, times, labelOf, labels: new BlockLabels(bytes, labels), bytes, payloads, lines }
}

/** A block of events that are not sealed yet: those of the frames from one offset to before another. */
export function blockOfFrames(
  frames: readonly Frame[],
  streamId: string,
  known: KnownLabels,
  [from, to]: readonly [number, number],
): Block {
  const builder = new BlockBuilder(streamId, known)
  for (const frame of frames) {
    const end = Math.min(frame.count, to - frame.first)
    for (let i = Math.max(0, from - frame.first); i < end; i++) builder.add(frame, i)
  }
  return readBlock(builder.finish(), from)
}
