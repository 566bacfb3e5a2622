import type { BinaryOperator } from '../ast.ts'
import { arithmetic } from '../values/arithmetic.ts'
import { comparison } from '../values/comparison.ts'
import { Failure } from '../values/failure.ts'
import type { Metadata } from '../values/metadata.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { otherwise } from './choices.ts'
import { type Code, knownOrigin, strict } from './code.ts'
import type { Frame } from './variable-frame.ts'

export interface Link {
  readonly operator: BinaryOperator
  readonly operand: Code
}

/** Chains up to this length become nested closures, which is faster; longer ones would need too much stack. */
const maxNestedClosures = 16

/** Compiles a left-associative operator chain. */
export function chain(first: Code, links: readonly Link[]): Code {
  let left = first
  for (const group of grouped(links)) {
    if (group[0]?.operator === '??') left = otherwise([left, ...group.map(({ operand }) => operand)])
    else if (group.length > maxNestedClosures) left = flat(left, group)
    else left = group.reduce((sum, { operator, operand }) => binary(operator as Strict, sum, operand), left)
  }
  return left
}

type Strict = Exclude<BinaryOperator, '??'>

/** Splits links into runs: all `??`, or all strict. */
function grouped(links: readonly Link[]): (readonly Link[])[] {
  const groups: (readonly Link[])[] = []
  let start = 0
  for (let at = 1; at <= links.length; at++) {
    if (at < links.length && (links[at]?.operator === '??') === (links[start]?.operator === '??')) continue
    groups.push(links.slice(start, at))
    start = at
  }
  return groups
}

/** Returns the metadata of an operand. */
type From = (part: number) => Metadata

function binary(operator: Strict, left: Code, right: Code): Code {
  const origin = knownOrigin([left, right])
  if (!left.sync || !right.sync || origin === undefined) {
    return strict([left, right], ([a, b], from) => apply(operator, a as Value, b as Value, from))
  }
  const [first, second] = [left.run, right.run]
  if (isLogical(operator)) {
    const logical = logic[operator]
    const origins = [left.origin, right.origin]
    const run = (frame: Frame): Value => {
      const a = first(frame)
      const b = second(frame)
      if (typeof a === 'boolean' && typeof b === 'boolean') return logical(a, b)
      return apply(operator, a, b, (part) => origins[part]?.of(frame))
    }
    return { sync: true, run, origin }
  }
  const plain = operations[operator]
  return { sync: true, run: (frame) => plain(first(frame), second(frame)), origin }
}

/** A long chain, evaluated in a loop. */
function flat(first: Code, links: readonly Link[]): Code {
  const parts = [first]
  for (const { operand } of links) parts.push(operand)
  return strict(parts, (values, from) => {
    let value = values[0] as Value
    for (const [at, { operator }] of links.entries()) {
      // Intermediate results are booleans wherever metadata matters, so only the operands are traced.
      value = apply(operator as Strict, value, values[at + 1] as Value, (part) => from(part === 0 ? 0 : at + 1))
    }
    return value
  })
}

function apply(operator: Strict, left: Value, right: Value, from: From): Value {
  if (!isLogical(operator)) return operations[operator](left, right)
  if (typeof left !== 'boolean') throw notBool(left, from(0))
  // No short-circuit evaluation: the right side is always evaluated, but its kind is ignored when the left side
  // decides.
  if (typeof right !== 'boolean' && isDecided(operator, left)) return left
  if (typeof right !== 'boolean') throw notBool(right, from(1))
  return logic[operator](left, right)
}

function isDecided(operator: Logical, left: boolean): boolean {
  return operator === '&' ? !left : operator === '|' && left
}

type Logical = '&' | '|' | '~'

function isLogical(operator: Strict): operator is Logical {
  return operator === '&' || operator === '|' || operator === '~'
}

const logic: Readonly<Record<Logical, (left: boolean, right: boolean) => boolean>> = {
  '&': (left, right) => left && right,
  '|': (left, right) => left || right,
  '~': (left, right) => left !== right,
}

const operations: Readonly<Record<Exclude<Strict, Logical>, (left: Value, right: Value) => Value>> = {
  ...arithmetic,
  '=': comparison('='),
  '!=': comparison('!='),
  '<': comparison('<'),
  '<=': comparison('<='),
  '>': comparison('>'),
  '>=': comparison('>='),
}

export function not(operand: Code): Code {
  if (operand.sync) {
    const { run, origin } = operand
    const negated = (frame: Frame): Value => {
      const value = run(frame)
      if (typeof value !== 'boolean') throw notBool(value, origin.of(frame))
      return !value
    }
    return { sync: true, run: negated, origin }
  }
  return strict([operand], ([value], from) => {
    if (typeof value !== 'boolean') throw notBool(value as Value, from(0))
    return !value
  })
}

export function notBool(value: Value, metadata: Metadata): Failure {
  return new Failure(`${show(value, metadata)} is not a bool`)
}
