import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorsPage, limitsPage } from '../../scripts/docs.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the generated pages of docs are up to date (npm run docs)', () => {
  assert.equal(read('docs/errors.md'), errorsPage())
  assert.equal(read('docs/limits.md'), limitsPage(read))
})

test('every limit is documented with what it bounds', () => {
  const rows = [...limitsPage(read).matchAll(/^\| `\w+` \| .* \| (.*) \|$/gm)]
  assert.ok(rows.length > 100)
  for (const [, description = ''] of rows) assert.notEqual(description, '')
})
