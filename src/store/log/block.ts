import { assert } from '../../assert.ts'
import { ByteReader, ByteWriter, type Frame, type Labels } from '../../protocol/index.ts'
import { parseLabelJson, writeLabelJson } from './label-json.ts'

/**
 * Events in a form that is quick to read: columns of numbers, and texts that are ready to be sent. What an event carries
 * besides its payload stands once per block as the piece of JSON that goes between its numbers and its payload.
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
  /** Start and end of a JSON list of all payloads in `bytes`, when none was removed. */
  readonly list: readonly [number, number] | undefined
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

/** Gathers events of frames into the bytes of one block. */
export class BlockBuilder {
  #lamports: number[] = []
  #times: number[] = []
  #labelOf: number[] = []
  readonly #labelIds = new Map<string, number>()
  readonly #labels = new ByteWriter(16 * 1024)
  readonly #json = new ByteWriter(1024)
  #lengths: number[] = []
  readonly #texts = new ByteWriter(64 * 1024)

  get count(): number {
    return this.#lamports.length
  }

  get payloadBytes(): number {
    return this.#texts.length
  }

  add(frame: Frame, index: number): void {
    const { bytes, lamports, times, labels, payloads } = frame
    this.#lamports.push(lamports[index] as number)
    this.#times.push(times[index] as number)
    this.#labelOf.push(this.#label(bytes, labels[2 * index] as number, labels[2 * index + 1] as number))
    const start = payloads[2 * index] as number
    const end = payloads[2 * index + 1] as number
    this.#lengths.push(start < 0 ? 0 : end - start)
    if (this.#lengths.length > 1) this.#texts.latin1(',\n')
    if (start >= 0) this.#texts.bytes(bytes, start, end)
  }

  /** The bytes of the block; the builder is empty again. */
  finish(): Buffer {
    const count = this.#lamports.length
    assert(count > 0, 'a block holds events')
    const writer = new ByteWriter(this.#labels.length + this.#texts.length + 24 * count).uvarint(count)
    deltas(writer, this.#lamports)
    deltas(writer, this.#times)
    writer.uvarint(this.#labelIds.size).bytes(this.#labels.written)
    for (const label of this.#labelOf) writer.uvarint(label)
    for (const length of this.#lengths) writer.uvarint(length)
    writer.latin1('[').bytes(this.#texts.written).latin1(']')
    this.#lamports = []
    this.#times = []
    this.#labelOf = []
    this.#lengths = []
    this.#labelIds.clear()
    this.#labels.clear()
    this.#texts.clear()
    return writer.written
  }

  #label(bytes: Buffer, start: number, end: number): number {
    const key = bytes.toString('latin1', start, end)
    const known = this.#labelIds.get(key)
    if (known !== undefined) return known
    this.#json.clear()
    writeLabelJson(this.#json, new ByteReader(bytes, start, end))
    this.#labels.uvarint(this.#json.length).bytes(this.#json.written)
    this.#labelIds.set(key, this.#labelIds.size)
    return this.#labelIds.size - 1
  }
}

export function readBlock(bytes: Buffer, first: number): Block {
  const reader = new ByteReader(bytes)
  const count = reader.uvarint()
  const lamports = readDeltas(reader, count)
  const times = readDeltas(reader, count)
  const labelSpans = new Int32Array(2 * reader.uvarint())
  for (let i = 0; i < labelSpans.length; i += 2) {
    labelSpans[i] = reader.skip(reader.uvarint())
    labelSpans[i + 1] = reader.at
  }
  const labelOf = new Uint16Array(count)
  for (let i = 0; i < count; i++) labelOf[i] = reader.uvarint()
  const payloads = new Int32Array(2 * count)
  for (let i = 0; i < count; i++) payloads[2 * i + 1] = reader.uvarint()
  const listStart = reader.at
  let at = listStart + 1
  let removed = false
  for (let i = 0; i < count; i++) {
    const length = payloads[2 * i + 1] as number
    payloads[2 * i] = length === 0 ? -1 : at
    payloads[2 * i + 1] = at + length
    removed ||= length === 0
    at += length + 2
  }
  const list = removed ? undefined : ([listStart, bytes.length] as const)
  return { first, count, lamports, times, labelOf, labels: new BlockLabels(bytes, labelSpans), bytes, payloads, list }
}

/** A block from frames that are not sealed yet. */
export function blockOfFrames(frames: readonly Frame[]): Block {
  const builder = new BlockBuilder()
  for (const frame of frames) for (let i = 0; i < frame.count; i++) builder.add(frame, i)
  return readBlock(builder.finish(), frames[0]?.first ?? 0)
}

/** Numbers go around at 2^53, so that the step from any to any other has a sign and 52 bits. */
const around = 2 ** 53

function deltas(writer: ByteWriter, values: readonly number[]): void {
  let before = 0
  for (const value of values) {
    const step = value - before
    writer.varint(step >= around / 2 ? step - around : step < -around / 2 ? step + around : step)
    before = value
  }
}

function readDeltas(reader: ByteReader, count: number): Float64Array {
  const values = new Float64Array(count)
  let value = 0
  for (let i = 0; i < count; i++) {
    const step = reader.varint()
    // In this order no sum on the way is too large to be exact.
    value = step >= around - value ? value - around + step : value + step
    if (value < 0) value += around
    values[i] = value
  }
  return values
}
