import type { BinaryOperator } from '../ast.ts'
import type { Name } from './expected.ts'

/** Spellings of the operators between two values. One that begins like another stands before it. */
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

export const binaryNames: readonly Name[] = [
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

/** How strongly the operators bind, the weakest first. */
export const binaryPrecedence: ReadonlyMap<BinaryOperator, number> = new Map(
  levels.flatMap((operators, level) => operators.map((operator) => [operator, level] as const)),
)
