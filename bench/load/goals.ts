import { median, ratio } from '../start/statistics.ts'
import type { Check, Figures } from './profile.ts'

/** All rounds of a profile, as far as goals need them. */
export interface Rounds {
  readonly ours: readonly Figures[]
  /** Undefined without a reference node: ratios to it are not checked. */
  readonly reference: readonly Figures[] | undefined
  /** By figure: milliseconds of the same query on an empty store of shoal. */
  readonly emptyStore: Figures
}

export const valuesOf = (rounds: readonly Figures[], figure: string): number[] =>
  rounds.map((figures) => figures[figure] ?? Number.NaN)

/** Whether the median of the rounds meets a goal; undefined if it cannot be checked. */
export function isMet(check: Check, figure: string, { ours, reference, emptyStore }: Rounds): boolean | undefined {
  const mine = valuesOf(ours, figure)
  if (check.kind === 'absolute') return holds(check, median(mine))
  if (check.kind === 'own') return holds(check, ratio(mine, valuesOf(ours, check.of)))
  if (check.orWithinMs !== undefined && median(mine) <= (emptyStore[figure] ?? Number.NaN) + check.orWithinMs)
    return true
  return reference && holds(check, ratio(mine, valuesOf(reference, figure)))
}

function holds({ is, value }: Check, measured: number): boolean | undefined {
  if (Number.isNaN(measured)) return undefined
  return is === '≤' ? measured <= value : measured >= value
}

/** A goal as text, such as `≤ 0.5 or 2.3 ms`: the time on an empty store is part of it. */
export function goalText(check: Check, figure: string, emptyStore: Figures): string {
  const text = `${check.is} ${check.value}`
  if (check.kind === 'absolute') return `${text} ${check.unit}`
  if (check.kind === 'own') return `${text} × ${check.of}`
  if (check.orWithinMs === undefined) return text
  return `${text} or ${((emptyStore[figure] ?? Number.NaN) + check.orWithinMs).toFixed(1)} ms`
}
