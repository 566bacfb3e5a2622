import { format } from '../base/format.ts'
import { ByteReader, MalformedBytes } from './bytes.ts'
import { type EventColumns, type Frame, secret, secretKinds } from './frame.ts'
import { skipLabels } from './labels.ts'
import { type LegacyTime, legacyTimes } from './legacy-times.ts'
import { saltLength, seedLength } from './salts.ts'
import { hashLength } from './stream.ts'

/** Parses a trusted record: one that this node has written, or that `checkFrame` has validated. */
export function readFrame(reader: ByteReader): Frame {
  const start = reader.at
  try {
    return parseFrame(reader, skipLabels)
  } catch (error) {
    const legacy = error instanceof MalformedBytes ? readLegacyFrame(reader, start) : undefined
    if (legacy === undefined) throw error
    return legacy
  }
}

/** Parses a record with legacy times, which earlier versions wrote while the clock was wrong; undefined for others. */
function readLegacyFrame(reader: ByteReader, start: number): Frame | undefined {
  for (const readTime of legacyTimes)
    try {
      reader.at = start
      return parseFrame(reader, skipLabels, { readLegacyTime: readTime })
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
    }
  return undefined
}

/**
 * Reads the events of consecutive trusted records, which have `count` events from `first` on. Faster than frame by frame:
 * most of the time of reading a frame of one event goes into its objects.
 */
export function readEvents(bytes: Buffer, first: number, count: number): EventColumns {
  const reader = new ByteReader(bytes)
  const columns = new Columns(count)
  let at = 0
  while (reader.remaining > 0) {
    const start = reader.at
    const header = readHeader(reader)
    if (header.first !== first + at || at + header.count > count)
      throw new MalformedBytes('the frames have other events than expected')
    try {
      readBody(reader, header, columns, at, skipLabels)
    } catch (error) {
      if (!(error instanceof MalformedBytes) || !readLegacyBody(reader, start, columns, at)) throw error
    }
    at += header.count
  }
  if (at !== count) throw new MalformedBytes('the frames have fewer events than expected')
  const { lamports, times, labels, payloads } = columns
  return { bytes: reader.buffer, view: reader.view, first, count, lamports, times, labels, payloads }
}

/** Reads a frame with legacy times again, from its start; false if it is not one. */
function readLegacyBody(reader: ByteReader, start: number, columns: Columns, at: number): boolean {
  return legacyTimes.some((readTime) => {
    try {
      reader.at = start
      readBody(reader, readHeader(reader), columns, at, skipLabels, readTime)
      return true
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      return false
    }
  })
}

/** The columns of frames that are being read. */
class Columns {
  readonly lamports: Float64Array
  readonly times: Float64Array
  readonly labels: Int32Array
  readonly payloads: Int32Array
  readonly secretsAt: Int32Array
  /** Where the salts of the last frame end. */
  secretsEnd = 0

  constructor(count: number) {
    this.lamports = new Float64Array(count)
    this.times = new Float64Array(count)
    this.labels = new Int32Array(2 * count)
    this.payloads = new Int32Array(2 * count)
    this.secretsAt = new Int32Array(count)
  }
}

interface Header {
  /** Where the record starts, and its head. */
  readonly start: number
  readonly headStart: number
  readonly headEnd: number
  readonly first: number
  readonly count: number
}

type PassLabels = (reader: ByteReader) => void

interface ParseOptions {
  readonly readLegacyTime?: LegacyTime
  /** The maximum number of events of an untrusted record. */
  readonly maxEvents?: number
}

/** Parses a record. Only its encoding is checked, and the labels by `passLabels`. */
export function parseFrame(
  reader: ByteReader,
  passLabels: PassLabels,
  { readLegacyTime, maxEvents }: ParseOptions = {},
): Frame {
  const header = readHeader(reader)
  if (maxEvents !== undefined) checkCount(reader, header, maxEvents)
  const { start, headStart, headEnd, first, count } = header
  const columns = new Columns(count)
  const seed = readBody(reader, header, columns, 0, passLabels, readLegacyTime)
  const { lamports, times, labels, payloads, secretsAt } = columns
  return {
    hasLegacyTimes: readLegacyTime !== undefined,
    bytes: reader.buffer,
    view: reader.view,
    record: [start, reader.at],
    first,
    count,
    lamports,
    times,
    labels,
    payloads,
    head: [headStart, headEnd],
    secrets: [headEnd, columns.secretsEnd],
    seed,
    secretsAt,
  }
}

export function readHeader(reader: ByteReader): Header {
  const start = reader.at
  const headLength = reader.uvarint()
  const headStart = reader.at
  if (headLength > reader.remaining) throw new MalformedBytes('unexpected end of bytes')
  const first = reader.uvarint()
  const count = reader.uvarint()
  if (count < 1 || count > format.eventsPerFrame) throw new MalformedBytes('a frame holds 1 to 1024 events')
  if (first + count > format.eventsPerStream) throw new MalformedBytes('a stream is too long')
  return { start, headStart, headEnd: headStart + headLength, first, count }
}

/** Minimum size of an event in a head: lamport timestamp, time, an app ID of one character, number of tags. */
const minEventHeadBytes = 5
/** Minimum size of an event behind a head: the length of its payload, and the payload or the hash of a redacted one. */
const minEventBodyBytes = 2

/** Minimum size of a record: three numbers, the seed, one event. */
export const minFrameBytes = 3 + 1 + seedLength + minEventHeadBytes + minEventBodyBytes

/** Checks the number of events before memory is allocated for them and the first one is read. */
function checkCount({ at, end }: ByteReader, { count, headEnd }: Header, maxEvents: number): void {
  if (count > maxEvents) throw new MalformedBytes('a chunk has too many events')
  if (count * minEventHeadBytes > headEnd - at || count * minEventBodyBytes > end - headEnd)
    throw new MalformedBytes('a frame has more events than its bytes can hold')
}

/** Reads the events of a frame into columns, from an index on. Returns the seed of the salts, if there is one. */
function readBody(
  reader: ByteReader,
  { count, headEnd }: Header,
  columns: Columns,
  at: number,
  passLabels: PassLabels,
  readLegacyTime?: LegacyTime,
): Uint8Array | undefined {
  const { lamports, times, labels } = columns
  const { view } = reader
  /** The offset of the last time. Fast path: the events of a request share one, so its bytes mostly repeat. */
  let timeAt = -1
  for (let i = at; i < at + count; i++) {
    lamports[i] = reader.uvarint()
    const start = reader.at
    if (readLegacyTime !== undefined) times[i] = readLegacyTime(reader)
    else if (timeAt >= 0 && start + timeBytes <= reader.end && areSame(view, timeAt, start)) {
      times[i] = times[i - 1] as number
      reader.at = start + timeBytes
    } else {
      times[i] = reader.uvarint()
      timeAt = reader.at - start === timeBytes ? start : -1
    }
    labels[2 * i] = reader.at
    passLabels(reader)
    labels[2 * i + 1] = reader.at
    if (reader.at > headEnd) break
  }
  if (reader.at !== headEnd) throw new MalformedBytes('the head of a frame has a wrong length')
  const { seed, redacted } = readSecrets(reader, columns.secretsAt, at, count)
  columns.secretsEnd = reader.at
  readPayloads(reader, columns.payloads, at, count, redacted)
  return seed
}

/** Length of the varint of a present-day time. */
const timeBytes = 8

function areSame(view: DataView, a: number, b: number): boolean {
  return view.getInt32(a) === view.getInt32(b) && view.getInt32(a + 4) === view.getInt32(b + 4)
}

interface Secrets {
  readonly seed: Uint8Array | undefined
  /** The events whose payloads are redacted, by their index in the columns; undefined when there are none. */
  readonly redacted: ReadonlySet<number> | undefined
}

function readSecrets(reader: ByteReader, secretsAt: Int32Array, at: number, count: number): Secrets {
  const kind = reader.byte()
  if (kind === secretKinds.seed) return { seed: reader.bytes(seedLength), redacted: undefined }
  const redacted = new Set<number>()
  if (kind !== secretKinds.list) throw new MalformedBytes('the salts of a frame have an unknown encoding')
  for (let i = at; i < at + count; i++) {
    const state = reader.byte()
    if (state !== secret.redacted && state !== secret.salt) throw new MalformedBytes('a salt has an unknown encoding')
    if (state === secret.redacted) redacted.add(i)
    secretsAt[i] = reader.skip(state === secret.redacted ? hashLength : saltLength)
  }
  return { seed: undefined, redacted }
}

function readPayloads(
  reader: ByteReader,
  payloads: Int32Array,
  at: number,
  count: number,
  redacted: Secrets['redacted'],
): void {
  for (let i = at; i < at + count; i++) {
    const length = reader.uvarint()
    if (length > format.payloadBytes) throw new MalformedBytes('a payload is too large')
    if ((length === 0) !== (redacted?.has(i) ?? false))
      throw new MalformedBytes('a payload is missing, or present although it is redacted')
    payloads[2 * i + 1] = length
  }
  for (let i = at; i < at + count; i++) {
    const start = reader.skip(payloads[2 * i + 1] as number)
    payloads[2 * i] = start === reader.at ? -1 : start
    payloads[2 * i + 1] = reader.at
  }
}
