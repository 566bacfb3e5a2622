import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorsPage, limitsPage } from '../../scripts/docs.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the pages made from the code are up to date (npm run docs)', () => {
  assert.equal(read('docs/errors.md'), errorsPage())
  assert.equal(read('docs/limits.md'), limitsPage(read('src/limits.ts'), read('src/aql/limits.ts')))
})

test('every limit says what it bounds', () => {
  for (const [, description = ''] of limitsPage(read('src/limits.ts'), read('src/aql/limits.ts')).matchAll(
    /^\| `\w+` \| .* \| (.*) \|$/gm,
  ))
    assert.notEqual(description, '')
})
