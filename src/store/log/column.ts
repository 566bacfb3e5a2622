import { type ByteReader, type ByteWriter, MalformedBytes } from '../../protocol/index.ts'

/**
 * Numbers of a block one after the other, as steps from each to the next. Where the same step is taken again and again,
 * as between the timestamps of one request, it stands there once with how often it is taken.
 */
const kinds = { steps: 0, runs: 1 } as const

/** Numbers go around at 2^53, so that the step from any to any other has a sign and 52 bits. */
const around = 2 ** 53

export function writeColumn(writer: ByteWriter, values: readonly number[]): void {
  const steps = values.map((value, i) => stepTo(value, i === 0 ? 0 : (values[i - 1] as number)))
  const runs = runsOf(steps)
  // A run takes two numbers.
  if (2 * runs.length >= steps.length) {
    writer.byte(kinds.steps)
    for (const step of steps) writer.varint(step)
    return
  }
  writer.byte(kinds.runs)
  for (const { step, times } of runs) writer.uvarint(times).varint(step)
}

function stepTo(value: number, before: number): number {
  const step = value - before
  if (step >= around / 2) return step - around
  return step < -around / 2 ? step + around : step
}

function runsOf(steps: readonly number[]): { step: number; times: number }[] {
  const runs: { step: number; times: number }[] = []
  for (const step of steps) {
    const last = runs.at(-1)
    if (last?.step === step) last.times++
    else runs.push({ step, times: 1 })
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
