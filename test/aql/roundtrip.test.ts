import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, parseExpr, print, printExpr } from '../../src/aql/index.ts'
import * as fc from '../support/property.ts'
import { readAnywhere } from './anywhere.ts'
import { kindsIn, numberOfKinds } from './kinds.ts'
import { exprs, queries } from './trees.ts'

const runs = { numRuns: 1000 }

test('the canonical text of a query parses to the same AST without pragmas', () => {
  fc.assert(
    fc.property(queries, (query) => {
      const text = print(query)
      const again = readAnywhere(text)
      assert.deepEqual(again, { ...query, pragmas: [] })
      assert.equal(print(again), text)
    }),
    runs,
  )
})

test('a formatted query parses to the same AST, and formatting is idempotent', () => {
  fc.assert(
    fc.property(queries, (query) => {
      const text = format(query)
      const again = readAnywhere(text)
      assert.deepEqual(again, query)
      assert.equal(format(again), text)
    }),
    runs,
  )
})

test('the canonical text of an expression parses to the same AST', () => {
  fc.assert(
    fc.property(exprs, (expr) => assert.deepEqual(parseExpr(printExpr(expr), { now: 0n }), expr)),
    runs,
  )
})

test('the generated queries cover every kind of AST node', () => {
  const kinds = new Set(fc.sample(queries, { numRuns: 1000, seed: 1 }).flatMap(kindsIn))
  assert.equal(kinds.size, numberOfKinds, [...kinds].join(' '))
})
