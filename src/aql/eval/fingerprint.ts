import type { Expr } from '../ast.ts'
import type { Pace, Steps } from '../steps.ts'

/** A structural key: equal for expressions with the same AST, and different for all others. */
export function* fingerprint(expr: Expr, pace: Pace): Steps<string> {
  const text: string[] = []
  // The fields of a node follow from its kind, and always come in the same order: their values are enough.
  const pending: unknown[] = [expr]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) text.push(scalar(value))
    else {
      const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
      text.push(`[${parts.length}`)
      for (let at = parts.length - 1; at >= 0; at--) pending.push(parts[at])
    }
    if (pace.isDue()) yield
  }
  return text.join()
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : String(value)
}
