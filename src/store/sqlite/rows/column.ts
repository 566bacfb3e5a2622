import { type ByteReader, type ByteWriter, MalformedBytes } from '../../../protocol/index.ts'

/**
 * The numbers of a block, delta encoded; with run-length encoding of equal deltas (the timestamps of one request) where
 * that is shorter.
 */
const kinds = { deltas: 0, runs: 1 } as const

/** Deltas are modulo 2^53, so that each has a sign and 52 bits. */
const modulus = 2 ** 53

export function writeColumn(writer: ByteWriter, values: ArrayLike<number>): void {
  const { length } = values
  // A run takes two numbers.
  if (2 * countRuns(values) >= length) {
    writer.byte(kinds.deltas)
    for (let i = 0; i < length; i++) writer.varint(deltaAt(values, i))
    return
  }
  writer.byte(kinds.runs)
  for (let i = 0; i < length; ) {
    const start = i
    const delta = deltaAt(values, i)
    do i++
    while (i < length && deltaAt(values, i) === delta)
    writer.uvarint(i - start).varint(delta)
  }
}

/** The difference to the previous number; to 0 for the first one. */
function deltaAt(values: ArrayLike<number>, index: number): number {
  const delta = (values[index] as number) - (index === 0 ? 0 : (values[index - 1] as number))
  if (delta >= modulus / 2) return delta - modulus
  return delta < -modulus / 2 ? delta + modulus : delta
}

/** The number of runs of equal deltas. */
function countRuns(values: ArrayLike<number>): number {
  let runs = 0
  let before = Number.NaN
  for (let i = 0; i < values.length; i++) {
    const delta = deltaAt(values, i)
    if (delta !== before) runs++
    before = delta
  }
  return runs
}

/** Reads a column into `values`, whose length is the number of values. */
export function readColumn<T extends Float64Array | Int32Array | Uint16Array>(reader: ByteReader, values: T): T {
  const kind = reader.byte()
  if (kind === kinds.runs) readRuns(reader, values)
  else if (kind === kinds.deltas) readDeltas(reader, values)
  else throw new MalformedBytes('a column is of an unknown kind')
  return values
}

function readDeltas(reader: ByteReader, values: Float64Array | Int32Array | Uint16Array): void {
  const { buffer, end } = reader
  let value = 0
  for (let i = 0; i < values.length; i++) {
    const byte = reader.at < end ? (buffer[reader.at] as number) : 0x80
    // Fast path for one byte: 0, -1, 1, -2, … as 0, 1, 2, 3, …
    const delta = byte < 0x80 ? (byte >>> 1) ^ -(byte & 1) : reader.varint()
    if (byte < 0x80) reader.at++
    value = addDelta(value, delta)
    values[i] = value
  }
}

function readRuns(reader: ByteReader, values: Float64Array | Int32Array | Uint16Array): void {
  let value = 0
  for (let i = 0; i < values.length; ) {
    const end = i + reader.uvarint()
    const delta = reader.varint()
    if (end === i || end > values.length)
      throw new MalformedBytes(`a run of a column ends at ${end}, expected ${i + 1} to ${values.length}`)
    for (; i < end; i++) {
      value = addDelta(value, delta)
      values[i] = value
    }
  }
}

function addDelta(value: number, delta: number): number {
  // In this order every intermediate result is exact.
  const next = delta >= modulus - value ? value - modulus + delta : value + delta
  return next < 0 ? next + modulus : next
}
