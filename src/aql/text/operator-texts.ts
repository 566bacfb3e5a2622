import type { BinaryOperator } from '../ast.ts'
import type { RuleName } from './expected.ts'

/** Spellings of the binary operators. A longer spelling precedes its prefixes. */
export const binarySpellings: readonly (readonly [string, BinaryOperator])[] = [
  ['??', '??'],
  ['|', '|'],
  ['∨', '|'],
  ['~', '~'],
  ['⊻', '~'],
  ['&', '&'],
  ['∧', '&'],
  ['!=', '!='],
  ['≠', '!='],
  ['<=', '<='],
  ['≤', '<='],
  ['<', '<'],
  ['>=', '>='],
  ['≥', '>='],
  ['>', '>'],
  ['=', '='],
  ['+', '+'],
  ['-', '-'],
  ['*', '*'],
  ['×', '*'],
  ['/', '/'],
  ['÷', '/'],
  ['⁄', '/'],
  ['%', '%'],
  ['^', '^'],
]

export const binaryNames: readonly RuleName[] = [
  ...(['add', 'sub', 'mul', 'div', 'modulo', 'pow', 'and', 'or', 'xor'] as const),
  ...(['lt', 'le', 'gt', 'ge', 'eq', 'ne', 'alternative'] as const),
]

const levels: readonly (readonly BinaryOperator[])[] = [
  ['??'],
  ['|'],
  ['~'],
  ['&'],
  ['=', '!='],
  ['<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/', '%'],
  ['^'],
]

/** Operator precedence; a higher number binds tighter. */
export const binaryPrecedence: ReadonlyMap<BinaryOperator, number> = new Map(
  levels.flatMap((operators, level) => operators.map((operator) => [operator, level] as const)),
)
