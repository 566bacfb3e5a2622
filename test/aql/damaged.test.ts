import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../scripts/crash/random.ts'
import { check } from '../../scripts/fuzz/read.ts'
import { anyText } from '../../scripts/fuzz/texts.ts'
import { AqlError, parseQuery } from '../../src/aql/index.ts'
import { codeFrame } from '../../src/aql/text/code-frame.ts'
import { allCases } from './cases.ts'
import { pegError } from './peg.ts'

const [first = '', ...rest] = allCases.flatMap(({ query }) => (typeof query === 'string' ? [query] : []))

function* damagedTexts(count: number): Generator<string> {
  const random = new Random('damaged')
  for (let done = 0; done < count; done++) yield anyText(random, [first, ...rest])
}

test('a damaged text is parsed or rejected, in work proportional to its length', () => {
  for (const text of damagedTexts(5000)) assert.doesNotThrow(() => check(text), JSON.stringify(text))
})

test('a syntax error is the same as that of a plain PEG parser', () => {
  let compared = 0
  for (const text of damagedTexts(2000)) {
    const error = pegError(text, 200_000)
    if (error === 'too long') continue
    compared++
    const detail = error === 'query' ? undefined : codeFrame(text, error.place, error.message)
    assert.equal(syntaxErrorOf(text), detail, JSON.stringify(text))
  }
  assert.ok(compared > 1900, `${compared} texts were compared`)
})

function syntaxErrorOf(text: string): string | undefined {
  try {
    parseQuery(text, { now: 0n })
    return undefined
  } catch (thrown) {
    assert.ok(thrown instanceof AqlError, String(thrown))
    return thrown.kind === 'syntax' ? thrown.detail : undefined
  }
}
