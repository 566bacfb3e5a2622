import type { Nested } from '../steps.ts'
import type { Reader } from './text-reader.ts'

/** Operands with the operators between them, as they are written. */
export interface Flat<Operand, Operator> {
  readonly first: Operand
  readonly rest: readonly { readonly operator: Operator; readonly operand: Operand }[]
}

/** An operand that operators are applied to, from left to right. */
interface Open<Operand, Operator> {
  readonly first: Operand
  readonly rest: { readonly operator: Operator; operand: Operand }[]
  /** Operators that bind less do not belong to it. */
  readonly least: number
}

/** Puts operands together. `precedence` has the operators that bind least first. Gives way when the reader says so. */
export function* bind<Operand, Operator>(
  { first, rest }: Flat<Operand, Operator>,
  precedence: ReadonlyMap<Operator, number>,
  chain: (first: Operand, rest: Flat<Operand, Operator>['rest']) => Operand,
  reader: Reader,
): Nested<Operand> {
  if (rest.length === 0) return first
  const closed = ({ first, rest }: Open<Operand, Operator>): Operand => (rest.length === 0 ? first : chain(first, rest))
  let open: Open<Operand, Operator> = { first, rest: [], least: 0 }
  // Those that the operand at hand is the last one of.
  const around: Open<Operand, Operator>[] = []
  for (const { operator, operand } of rest) {
    const strength = precedence.get(operator) ?? -1
    while (open.least > strength) {
      const last = closed(open)
      open = around.pop() as Open<Operand, Operator>
      ;(open.rest.at(-1) as { operand: Operand }).operand = last
    }
    open.rest.push({ operator, operand })
    around.push(open)
    open = { first: operand, rest: [], least: strength + 1 }
    reader.steps += stepsPerOperator
    if (reader.isDue()) yield undefined
  }
  for (let next = around.pop(); next !== undefined; next = around.pop()) {
    ;(next.rest.at(-1) as { operand: Operand }).operand = closed(open)
    open = next
  }
  return closed(open)
}

/** What putting an operand in its place counts as. */
const stepsPerOperator = 2

/**
 * A chain in parentheses that more is applied to: it is applied first anyway, so it is the beginning of a longer one.
 * It is extended in place, since it was just read and copying it would cost as much as reading it, level by level.
 */
export function extended<Step, Chain extends { readonly rest: readonly Step[] }>(
  chain: Chain,
  rest: readonly Step[],
): Chain {
  const steps = chain.rest as Step[]
  for (const step of rest) steps.push(step)
  return chain
}
