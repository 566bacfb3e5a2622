import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Failure } from '../../src/aql/values/failure.ts'
import { notation } from '../../src/aql/values/show.ts'
import { casesOf } from './eval/cases.ts'
import { evaluate } from './eval/expressions.ts'

interface ExprCase {
  readonly bindings?: Readonly<Record<string, unknown>>
  readonly expect: { readonly text: string }
}

interface ErrorCase {
  readonly bindings?: Readonly<Record<string, unknown>>
  readonly expect: { readonly error: string; readonly match: 'exact' | 'contains' }
}

describe('expressions of the case file', () => {
  for (const { name, query, bindings, expect } of casesOf<ExprCase>('expr')) {
    test(name, () => assert.equal(notation(evaluate(query, bindings)), expect.text))
  }

  for (const { name, query, bindings, expect } of casesOf<ErrorCase>('exprError')) {
    test(name, () => {
      assert.throws(
        () => evaluate(query, bindings),
        (thrown) => thrown instanceof Failure && matches(thrown.message, expect),
      )
    })
  }
})

function matches(message: string, { error, match }: ErrorCase['expect']): boolean {
  return match === 'exact' ? message === error : message.includes(error)
}
