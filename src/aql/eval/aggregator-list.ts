import type { AggregateOperator, Expr } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../language-limits.ts'
import type { Nested, Pace, Steps } from '../steps.ts'
import type { AggregatorCode } from './aggregate.ts'
import { compareExpressions } from './expression-order.ts'
import { fingerprint } from './fingerprint.ts'
import { mergeSort } from './sorted.ts'

type AggregatorExpr = Extract<Expr, { kind: 'aggregator' }>
type Compile = (argument: Expr) => Nested<Omit<AggregatorCode, 'operator'>>

const operators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']

interface Known {
  readonly argument: Expr
  readonly code: AggregatorCode
  /** Length of the fingerprint. */
  readonly size: number
}

/** Deduplicates the aggregators of an AGGREGATE stage while its expression is compiled. */
export class Aggregators {
  readonly #compile: Compile
  readonly #pace: Pace
  readonly #byFingerprint = new Map<string, Known>()

  constructor(compile: Compile, pace: Pace) {
    this.#compile = compile
    this.#pace = pace
  }

  *slotOf(expr: AggregatorExpr): Nested<number> {
    const text = yield* fingerprint(expr, this.#pace)
    const known = this.#byFingerprint.get(text)
    if (known !== undefined) return known.code.slot
    if (this.#byFingerprint.size === aqlLimits.aggregators)
      throw new AqlError(
        'static',
        `AGGREGATE has too many aggregators (limit aggregators: ${aqlLimits.aggregators})`,
        0,
      )
    const code = { operator: expr.operator, ...(yield* this.#compile(expr.argument)) }
    this.#byFingerprint.set(text, { argument: expr.argument, code, size: text.length })
    return code.slot
  }

  /** In the order in which their failures are reported. */
  *inOrder(): Steps<AggregatorCode[]> {
    const all = yield* mergeSort([...this.#byFingerprint.values()], compareAggregators, this.#pace)
    return all.map(({ code }) => code)
  }

  /** The event order in which the first input already determines all results. */
  get preferred(): 'asc' | 'desc' | undefined {
    const used = new Set([...this.#byFingerprint.values()].map(({ code }) => code.operator))
    if (used.size !== 1) return undefined
    if (used.has('FIRST')) return 'asc'
    return used.has('LAST') ? 'desc' : undefined
  }
}

function compareAggregators(a: Known, b: Known): number {
  return (
    operators.indexOf(a.code.operator) - operators.indexOf(b.code.operator) ||
    compareExpressions(a.argument, b.argument)
  )
}
