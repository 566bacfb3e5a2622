import type { EventKeyLiteral, Inequality, Micros } from '../ast.ts'
import { compareEventKeys, type EventKey } from '../values/event.ts'

/** A range in the total order of events. */
export interface KeyRange {
  readonly lower?: KeyBound
  readonly upper?: KeyBound
}

export interface KeyBound {
  readonly key: EventKey
  readonly inclusive: boolean
}

/** A half-open range of microseconds. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

export function keyRange(comparison: Inequality, { lamport, stream }: EventKeyLiteral): KeyRange {
  const bound = { key: { lamport: Number(lamport), stream }, inclusive: comparison.endsWith('=') }
  return comparison.startsWith('>') ? { lower: bound } : { upper: bound }
}

export function timeRange(comparison: Inequality, time: Micros): TimeRange {
  const micros = Number(time)
  const edge = comparison === '>' || comparison === '<=' ? micros + 1 : micros
  return comparison.startsWith('>') ? { from: edge, to: Number.POSITIVE_INFINITY } : { from: 0, to: edge }
}

export function inKeyRange({ lower, upper }: KeyRange, key: EventKey): boolean {
  if (lower !== undefined && !isAfter(key, lower)) return false
  return upper === undefined || isBefore(key, upper)
}

export function inTimeRange({ from, to }: TimeRange, time: number): boolean {
  return time >= from && time < to
}

function isAfter(key: EventKey, lower: KeyBound): boolean {
  const sign = compareEventKeys(key, lower.key)
  return sign > 0 || (sign === 0 && lower.inclusive)
}

function isBefore(key: EventKey, upper: KeyBound): boolean {
  const sign = compareEventKeys(key, upper.key)
  return sign < 0 || (sign === 0 && upper.inclusive)
}

/** The intersection; `undefined` when it is known to be empty. */
export function intersectKeys(a: KeyRange, b: KeyRange): KeyRange | undefined {
  const lower = tighter(a.lower, b.lower, 1)
  const upper = tighter(a.upper, b.upper, -1)
  if (lower !== undefined && upper !== undefined) {
    const sign = compareEventKeys(lower.key, upper.key)
    if (sign > 0 || (sign === 0 && !(lower.inclusive && upper.inclusive))) return undefined
  }
  return { ...(lower && { lower }), ...(upper && { upper }) }
}

function tighter(a: KeyBound | undefined, b: KeyBound | undefined, side: 1 | -1): KeyBound | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const sign = compareEventKeys(a.key, b.key) * side
  if (sign === 0) return a.inclusive ? b : a
  return sign > 0 ? a : b
}

export function intersectTimes(a: TimeRange, b: TimeRange): TimeRange | undefined {
  const range = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) }
  return range.from < range.to ? range : undefined
}

/** Whether `outer` contains `inner`. */
export function keysSubsumed(inner: KeyRange | undefined, outer: KeyRange | undefined): boolean {
  if (outer === undefined) return true
  const both = inner && intersectKeys(inner, outer)
  return both !== undefined && sameBound(both.lower, inner?.lower) && sameBound(both.upper, inner?.upper)
}

function sameBound(a: KeyBound | undefined, b: KeyBound | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return compareEventKeys(a.key, b.key) === 0 && a.inclusive === b.inclusive
}

export function timesSubsumed(inner: TimeRange | undefined, outer: TimeRange | undefined): boolean {
  return outer === undefined || (inner !== undefined && inner.from >= outer.from && inner.to <= outer.to)
}
