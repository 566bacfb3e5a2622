import { limits } from '../../base/limits.ts'
import type { ClockEra } from './clock-eras.ts'

/** What a node remembers of its wall clock from one start to the next. Times in microseconds. */
export interface ClockRecord {
  /** What the wall clock showed when this was saved. */
  readonly seen: number
  /** Milliseconds for which events were still not to be removed for their age. */
  readonly doubtMs: number
  /** The start of the era at that time, and those before it. */
  readonly from: number
  readonly eras: readonly ClockEra[]
}

export function clockRecordText({ seen, doubtMs, from, eras }: ClockRecord): string {
  const rows = eras.map((era) => [era.from, era.to, era.shift, era.stopped])
  return JSON.stringify({ seen, doubtMs, from, eras: rows })
}

/** Throws when a text is no record. */
export function parseClockRecord(text: string): ClockRecord {
  const { seen, doubtMs, from, eras } = objectOf(JSON.parse(text))
  if (!Array.isArray(eras) || eras.length > limits.clockEras) throw malformed('eras')
  return {
    seen: timeOf(seen, 'seen'),
    doubtMs: Math.min(timeOf(doubtMs, 'doubtMs'), limits.clockSettleMs),
    from: timeOf(from, 'from'),
    eras: eras.map(eraOf),
  }
}

function eraOf(row: unknown): ClockEra {
  if (!Array.isArray(row) || !row.every(Number.isFinite)) throw malformed('eras')
  const [from, to, shift, stopped] = row
  if (row.length !== 4 || stopped < 0) throw malformed('eras')
  return { from, to, shift, stopped }
}

function timeOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw malformed(name)
  return value
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw malformed('object')
  return value as Record<string, unknown>
}

function malformed(name: string): Error {
  return new Error(`the stored record of the clock is malformed: ${name}`)
}
