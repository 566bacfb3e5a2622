import type { AggregateOperator, Expr } from '../ast.ts'
import { AqlError } from '../error.ts'
import { aqlLimits } from '../limits.ts'
import type { AggregatorCode } from './aggregate.ts'
import { compareExpressions } from './expression-order.ts'

type AggregatorExpr = Extract<Expr, { kind: 'aggregator' }>
type Compile = (argument: Expr) => Omit<AggregatorCode, 'operator'>

const operators: readonly AggregateOperator[] = ['SUM', 'PRODUCT', 'MIN', 'MAX', 'FIRST', 'LAST']

/** The distinct aggregators of an AGGREGATE stage, collected while its expression is compiled. */
export class Aggregators {
  readonly #compile: Compile
  readonly #byText = new Map<string, { readonly argument: Expr; readonly code: AggregatorCode }>()

  constructor(compile: Compile) {
    this.#compile = compile
  }

  slotOf(expr: AggregatorExpr): number {
    const text = fingerprint(expr)
    const known = this.#byText.get(text)
    if (known !== undefined) return known.code.slot
    if (this.#byText.size === aqlLimits.aggregators)
      throw new AqlError(
        'static',
        `AGGREGATE has too many aggregators (limit aggregators: ${aqlLimits.aggregators})`,
        0,
      )
    const code = { operator: expr.operator, ...this.#compile(expr.argument) }
    this.#byText.set(text, { argument: expr.argument, code })
    return code.slot
  }

  /** In the order in which their failures are told. */
  inOrder(): AggregatorCode[] {
    return [...this.#byText.values()]
      .sort(
        (a, b) =>
          operators.indexOf(a.code.operator) - operators.indexOf(b.code.operator) ||
          compareExpressions(a.argument, b.argument),
      )
      .map(({ code }) => code)
  }

  /** The order of events in which the first input settles them all. */
  get preferred(): 'asc' | 'desc' | undefined {
    const used = new Set([...this.#byText.values()].map(({ code }) => code.operator))
    if (used.size !== 1) return undefined
    if (used.has('FIRST')) return 'asc'
    return used.has('LAST') ? 'desc' : undefined
  }
}

/** The same for expressions that are written alike, and different for all others. */
function fingerprint(expr: Expr): string {
  return JSON.stringify(expr, (_, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`
    return Object.is(value, -0) ? '-0' : value
  })
}
