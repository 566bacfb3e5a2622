import type { EventKeyLiteral, Micros } from '../ast.ts'
import { naturalOf } from '../text/number-literals.ts'

const day = 86_400_000_000n
const second = 1_000_000n
/** The smallest UTC offset that an instant can have. */
const minOffset = -(23n * 60n + 59n) * 60n * second

export function printString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A decimal without exponent that does not parse as a natural. */
export function printDecimal(value: number): string {
  const text = Object.is(value, -0) ? '-0' : positional(value)
  return /^\d+$/.test(text) && naturalOf(text) !== undefined ? `${text}.0` : text
}

function positional(value: number): string {
  // A literal beyond the largest double parses as Infinity. Any digits that overflow will do.
  if (!Number.isFinite(value)) return `${value < 0 ? '-' : ''}1${'0'.repeat(309)}`
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return sign + digits.padEnd(point, '0')
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

export function printKey({ lamport, stream }: EventKeyLiteral): string {
  return `${lamport}/${stream.node}-${stream.number}`
}

/** An instant without redundant parts. */
export function printInstant(time: Micros): string {
  if (time % day === 0n && yearOf(time) <= 9999) return printExactly(time).replace(/T.*Z$/, 'Z')
  return printExactly(time)
    .replace(/\.000000/, '')
    .replace(/(\.\d{3})000/, '$1')
}

/** An instant with microsecond precision. */
export function printExactly(time: Micros): string {
  // Years have four digits. An instant after 9999 in UTC is still in 9999 with the smallest offset.
  const behind = yearOf(time) > 9999
  const local = behind ? time + minOffset : time
  const date = new Date(Number(local / second) * 1000).toISOString().slice(0, -5)
  return `${date}.${String(local % second).padStart(6, '0')}${behind ? '-23:59' : 'Z'}`
}

function yearOf(time: Micros): number {
  return new Date(Number(time / 1000n)).getUTCFullYear()
}
