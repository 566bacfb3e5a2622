/** Operands with the operators between them, as they are written. */
export interface Flat<Operand, Operator> {
  readonly first: Operand
  readonly rest: readonly { readonly operator: Operator; readonly operand: Operand }[]
}

/** Puts operands together. `precedence` has the operators that bind least first. */
export function bind<Operand, Operator>(
  flat: Flat<Operand, Operator>,
  precedence: ReadonlyMap<Operator, number>,
  chain: (first: Operand, rest: Flat<Operand, Operator>['rest']) => Operand,
): Operand {
  let next = 0
  const strength = (): number => {
    const step = flat.rest[next]
    return step === undefined ? -1 : (precedence.get(step.operator) ?? -1)
  }
  // Operators that bind no less than `least`, from left to right. Each takes those that bind more than it does.
  const take = (first: Operand, least: number): Operand => {
    const rest: Flat<Operand, Operator>['rest'][number][] = []
    for (let own = strength(); own >= least; own = strength()) {
      const step = flat.rest[next++]
      if (step === undefined) break
      rest.push({ operator: step.operator, operand: take(step.operand, own + 1) })
    }
    return rest.length === 0 ? first : chain(first, rest)
  }
  return take(flat.first, 0)
}

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
