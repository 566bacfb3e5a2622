import type { Micros } from '../ast.ts'
import type { RuleName } from './expected.ts'
import { naturalOf, readDigits, tooLarge } from './number-literals.ts'
import type { Reader } from './text-reader.ts'

/** A time, or the static error of one that parses but is invalid. */
export type Time = { readonly time: Micros } | { readonly fault: string }

const patterns = {
  year: /\d{4}/y,
  month: /0[1-9]|1[0-2]/y,
  day: /0[1-9]|[12]\d|3[01]/y,
  hour: /[01]\d|2[0-3]/y,
  minute: /[0-5]\d/y,
  second: /[0-5]\d/y,
  nanosecond: /\d{9}/y,
  microsecond: /\d{6}/y,
  millisecond: /\d{3}/y,
  sign: /[+-]/y,
} satisfies Partial<Record<RuleName, RegExp>>

/** Parses an instant: a date, an optional time of day, and a zone. */
export function readInstant(reader: Reader): Time | undefined {
  const start = reader.at
  const read = instant(reader)
  if (read === undefined) reader.at = start
  else reader.skipTrivia()
  return read
}

function instant(reader: Reader): Time | undefined {
  const year = part(reader, 'year')
  const month = year === undefined ? undefined : partAfter(reader, '-', 'month')
  const day = month === undefined ? undefined : partAfter(reader, '-', 'day')
  if (year === undefined || month === undefined || day === undefined) return undefined
  const time = timeOfDay(reader)
  const offset = zone(reader)
  if (offset === undefined) return undefined
  if (day > daysOf(year, month)) {
    const date = [padded(year, 4), padded(month, 2), padded(day, 2)].join('-')
    return { fault: `invalid date ${date}: that month has ${daysOf(year, month)} days` }
  }
  const date = new Date(0)
  // Not Date.UTC, which maps the year 70 to 1970.
  date.setUTCFullYear(year, month - 1, day)
  const micros = BigInt(date.getTime()) * 1000n + time - offset
  // Clamped to the epoch: no event is older.
  return { time: micros < 0n ? 0n : micros }
}

/** Microseconds since midnight. Each part requires the ones before it. */
function timeOfDay(reader: Reader): bigint {
  const minutes = after(reader, 'T', () => hourAndMinute(reader))
  if (minutes === undefined) return 0n
  const seconds = after(reader, ':', () => part(reader, 'second'))
  const fraction = seconds === undefined ? undefined : after(reader, '.', () => fractionOf(reader))
  return BigInt(minutes * 60 + (seconds ?? 0)) * 1_000_000n + BigInt(fraction ?? 0)
}

function hourAndMinute(reader: Reader): number | undefined {
  const hour = part(reader, 'hour')
  const minute = hour === undefined ? undefined : partAfter(reader, ':', 'minute')
  return hour === undefined || minute === undefined ? undefined : hour * 60 + minute
}

/** Microseconds of a fraction of three, six or nine digits. */
function fractionOf(reader: Reader): number | undefined {
  const nanos = part(reader, 'nanosecond')
  if (nanos !== undefined) return Math.floor(nanos / 1000)
  const micros = part(reader, 'microsecond')
  if (micros !== undefined) return micros
  const millis = part(reader, 'millisecond')
  return millis === undefined ? undefined : millis * 1000
}

/** The UTC offset in microseconds. */
function zone(reader: Reader): bigint | undefined {
  if (reader.literal('Z')) return 0n
  const sign = reader.match('sign', patterns.sign)
  const minutes = sign === undefined ? undefined : hourAndMinute(reader)
  return minutes === undefined ? undefined : BigInt(sign === '-' ? -minutes : minutes) * 60_000_000n
}

function part(reader: Reader, name: keyof typeof patterns): number | undefined {
  const digits = reader.match(name, patterns[name])
  return digits === undefined ? undefined : Number(digits)
}

function partAfter(reader: Reader, separator: string, name: keyof typeof patterns): number | undefined {
  return reader.literal(separator) ? part(reader, name) : undefined
}

/** Parses a separator and what follows it, or backtracks over both. */
function after<T>(reader: Reader, separator: string, read: () => T | undefined): T | undefined {
  const start = reader.at
  const found = reader.literal(separator) ? read() : undefined
  if (found === undefined) reader.at = start
  return found
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

/** Microseconds per unit. Months and years are the mean synodic month and the mean tropical year. */
const units: Readonly<Record<string, bigint>> = {
  s: 1_000_000n,
  m: 60_000_000n,
  h: 3_600_000_000n,
  D: 86_400_000_000n,
  W: 7n * 86_400_000_000n,
  M: 2_551_442_876_908n,
  Y: 31_556_925_250_733n,
}

/** Parses `7s ago`, which has exactly one whitespace character. It is relative to the time of parsing. */
export function readAgo(reader: Reader, now: Micros): Time | undefined {
  const start = reader.at
  const mark = reader.expected.mark(start)
  const count = readDigits(reader)
  const unit = count === undefined ? undefined : reader.match('duration_unit', /[smhDWMY]/y)
  if (
    count === undefined ||
    unit === undefined ||
    !/\p{White_Space}ago/uy.test(reader.text.slice(reader.at, reader.at + 4))
  ) {
    reader.at = start
    reader.expected.missed('duration_ago', start, mark)
    return undefined
  }
  reader.advance(reader.at + 4)
  reader.skipTrivia()
  const natural = naturalOf(count)
  if (natural === undefined) return { fault: tooLarge }
  const time = now - natural * (units[unit] ?? 0n)
  return { time: time < 0n ? 0n : time }
}
