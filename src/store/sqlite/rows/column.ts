import { type ByteReader, type ByteWriter, MalformedBytes } from '../../../protocol/index.ts'

/**
 * The numbers of a block, delta encoded; with run-length encoding of equal deltas (the timestamps of one request) where
 * that is shorter.
 */
const kinds = { steps: 0, runs: 1 } as const

/** Deltas are modulo 2^53, so that each has a sign and 52 bits. */
const around = 2 ** 53

export function writeColumn(writer: ByteWriter, values: ArrayLike<number>): void {
  const { length } = values
  // A run takes two numbers.
  if (2 * runsOf(values) >= length) {
    writer.byte(kinds.steps)
    for (let i = 0; i < length; i++) writer.varint(stepTo(values, i))
    return
  }
  writer.byte(kinds.runs)
  for (let i = 0; i < length; ) {
    const start = i
    const step = stepTo(values, i)
    do i++
    while (i < length && stepTo(values, i) === step)
    writer.uvarint(i - start).varint(step)
  }
}

/** The step from the number before it, which is 0 for the first. */
function stepTo(values: ArrayLike<number>, index: number): number {
  const step = (values[index] as number) - (index === 0 ? 0 : (values[index - 1] as number))
  if (step >= around / 2) return step - around
  return step < -around / 2 ? step + around : step
}

/** How often the step is another one than before. */
function runsOf(values: ArrayLike<number>): number {
  let runs = 0
  let before = Number.NaN
  for (let i = 0; i < values.length; i++) {
    const step = stepTo(values, i)
    if (step !== before) runs++
    before = step
  }
  return runs
}

/** Fills a list with the numbers that come next. */
export function readColumn<T extends Float64Array | Int32Array | Uint16Array>(reader: ByteReader, values: T): T {
  const kind = reader.byte()
  if (kind === kinds.runs) readRuns(reader, values)
  else if (kind === kinds.steps) readSteps(reader, values)
  else throw new MalformedBytes('a column is of an unknown kind')
  return values
}

function readSteps(reader: ByteReader, values: Float64Array | Int32Array | Uint16Array): void {
  const { buffer, end } = reader
  let value = 0
  for (let i = 0; i < values.length; i++) {
    const byte = reader.at < end ? (buffer[reader.at] as number) : 0x80
    // Most steps are small: 0, -1, 1, -2, … as 0, 1, 2, 3, …
    const step = byte < 0x80 ? (byte >>> 1) ^ -(byte & 1) : reader.varint()
    if (byte < 0x80) reader.at++
    value = after(value, step)
    values[i] = value
  }
}

function readRuns(reader: ByteReader, values: Float64Array | Int32Array | Uint16Array): void {
  let value = 0
  for (let i = 0; i < values.length; ) {
    const end = i + reader.uvarint()
    const step = reader.varint()
    if (end === i || end > values.length) throw new MalformedBytes('a column has another length')
    for (; i < end; i++) {
      value = after(value, step)
      values[i] = value
    }
  }
}

function after(value: number, step: number): number {
  // In this order no sum on the way is too large to be exact.
  const next = step >= around - value ? value - around + step : value + step
  return next < 0 ? next + around : next
}
