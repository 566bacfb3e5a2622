import type { BinaryOperator, Chain, Entry, Expr, Item } from '../ast.ts'
import { compareTexts } from '../values/comparison.ts'

/**
 * A total order of expressions: by kind, then by their children from left to right. It only decides which failure is
 * reported first when several aggregators fail.
 */
const ranks: Readonly<Record<Expr['kind'], number>> = {
  variable: 0,
  index: 1,
  natural: 2,
  decimal: 2,
  string: 3,
  template: 4,
  object: 5,
  array: 6,
  null: 7,
  bool: 8,
  case: 9,
  chain: 10,
  not: 11,
  aggregator: 12,
  call: 13,
  query: 14,
  meta: 15,
  keyLiteral: 16,
  timeLiteral: 17,
}

const operators: readonly BinaryOperator[] = [
  '+',
  '-',
  '*',
  '/',
  '%',
  '^',
  '&',
  '|',
  '~',
  '<',
  '<=',
  '>',
  '>=',
  '=',
  '!=',
  '??',
]

/** Three-way comparison. */
export function compareExpressions(left: Expr, right: Expr): number {
  const [a, b] = [unwrapped(left), unwrapped(right)]
  if (a.kind === 'chain' && b.kind === 'chain') return compareChains(a, b)
  if (ranks[a.kind] !== ranks[b.kind]) return ranks[a.kind] - ranks[b.kind]
  return compareAlike(a, b)
}

/** A parenthesised literal compares like the literal. */
function unwrapped(expr: Expr): Expr {
  return expr.kind === 'chain' && expr.rest.length === 0 ? expr.first : expr
}

function compareAlike(a: Expr, b: Expr): number {
  if (a.kind === 'variable' && b.kind === 'variable') return compareTexts(a.name, b.name)
  if (a.kind === 'index' && b.kind === 'index')
    return compareExpressions(a.head, b.head) || compareLists(a.path, b.path, compareSteps)
  if (a.kind === 'object' && b.kind === 'object') return compareLists(a.entries, b.entries, compareEntries)
  if (a.kind === 'array' && b.kind === 'array') return compareLists(a.items, b.items, compareItems)
  if (a.kind === 'not' && b.kind === 'not') return compareExpressions(a.operand, b.operand)
  if (a.kind === 'case' && b.kind === 'case')
    return compareLists(
      a.clauses,
      b.clauses,
      (x, y) => compareExpressions(x.condition, y.condition) || compareExpressions(x.value, y.value),
    )
  if (a.kind === 'call' && b.kind === 'call')
    return compareTexts(a.name, b.name) || compareLists(a.arguments, b.arguments, compareExpressions)
  if ((a.kind === 'natural' || a.kind === 'decimal') && (b.kind === 'natural' || b.kind === 'decimal'))
    return Number(a.value) - Number(b.value)
  // The others fail in one way only or not at all, so their order does not matter.
  return 0
}

/** Property names sort before indexes, and both before computed steps. */
function compareSteps(a: Expr, b: Expr): number {
  const kind = (step: Expr): number => (step.kind === 'string' ? 0 : step.kind === 'natural' ? 1 : 2)
  if (a.kind === 'string' && b.kind === 'string') return compareTexts(a.value, b.value)
  return kind(a) - kind(b) || compareExpressions(a, b)
}

function compareEntries(a: Entry, b: Entry): number {
  return compareSteps(a.key, b.key) || compareExpressions(a.value, b.value)
}

function compareItems(a: Item, b: Item): number {
  return compareExpressions(a.expr, b.expr)
}

/**
 * `a + b + c` is `(a + b) + c`: compares the outermost operator, which is the last one, then its left side, then its
 * right side.
 */
function compareChains(a: Chain, b: Chain): number {
  let [i, j] = [a.rest.length, b.rest.length]
  for (; i > 0 && j > 0; i--, j--) {
    const difference = operatorAt(a, i - 1) - operatorAt(b, j - 1)
    if (difference !== 0) return difference
  }
  if (i > 0 || j > 0) {
    const [x, y] = [i > 0 ? ranks.chain : ranks[a.first.kind], j > 0 ? ranks.chain : ranks[b.first.kind]]
    return x - y
  }
  return (
    compareExpressions(a.first, b.first) ||
    compareLists(a.rest, b.rest, (x, y) => compareExpressions(x.operand, y.operand))
  )
}

function operatorAt({ rest }: Chain, index: number): number {
  return operators.indexOf(rest[index]?.operator as BinaryOperator)
}

function compareLists<T>(a: readonly T[], b: readonly T[], compare: (x: T, y: T) => number): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = compare(a[i] as T, b[i] as T)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
