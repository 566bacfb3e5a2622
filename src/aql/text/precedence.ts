import type { Nested } from '../steps.ts'
import type { Reader } from './text-reader.ts'

/** Operands and operators in source order, before precedence is applied. */
export interface Flat<Operand, Operator> {
  readonly first: Operand
  readonly rest: readonly { readonly operator: Operator; readonly operand: Operand }[]
}

/** A chain that is still being built. */
interface OpenChain<Operand, Operator> {
  readonly first: Operand
  readonly rest: { readonly operator: Operator; operand: Operand }[]
  /** The lowest precedence of an operator that still belongs to this chain. */
  readonly minPrecedence: number
}

/** Groups operands by operator precedence, with an explicit stack (shunting-yard). Yields when the reader says so. */
export function* groupByPrecedence<Operand, Operator>(
  { first, rest }: Flat<Operand, Operator>,
  precedence: ReadonlyMap<Operator, number>,
  chain: (first: Operand, rest: Flat<Operand, Operator>['rest']) => Operand,
  reader: Reader,
): Nested<Operand> {
  if (rest.length === 0) return first
  const close = ({ first, rest }: OpenChain<Operand, Operator>): Operand =>
    rest.length === 0 ? first : chain(first, rest)
  let open: OpenChain<Operand, Operator> = { first, rest: [], minPrecedence: 0 }
  // Enclosing chains, innermost last. The last operand of each is replaced when the inner chain closes.
  const enclosing: OpenChain<Operand, Operator>[] = []
  for (const { operator, operand } of rest) {
    const strength = precedence.get(operator) ?? -1
    while (open.minPrecedence > strength) {
      const last = close(open)
      open = enclosing.pop() as OpenChain<Operand, Operator>
      ;(open.rest.at(-1) as { operand: Operand }).operand = last
    }
    open.rest.push({ operator, operand })
    enclosing.push(open)
    open = { first: operand, rest: [], minPrecedence: strength + 1 }
    reader.steps += stepsPerOperator
    if (reader.isDue()) yield undefined
  }
  for (let next = enclosing.pop(); next !== undefined; next = enclosing.pop()) {
    ;(next.rest.at(-1) as { operand: Operand }).operand = close(open)
    open = next
  }
  return close(open)
}

/** Steps counted per operator. */
const stepsPerOperator = 2

/**
 * Appends operators to a parenthesised chain: `(a + b) + c` is `a + b + c`. The chain is extended in place, because it
 * was just parsed and a copy per nesting level would take quadratic time.
 */
export function extended<Step, Chain extends { readonly rest: readonly Step[] }>(
  chain: Chain,
  rest: readonly Step[],
): Chain {
  const steps = chain.rest as Step[]
  for (const step of rest) steps.push(step)
  return chain
}
