import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

test('the architecture page has a row for every folder of the source', () => {
  const shown = new Set(
    [...page.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) => cell.match(/[a-z][a-z/-]*/g) ?? []),
  )
  const folders = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(root, 'src/').length))
  assert.deepEqual(folders.filter((folder) => !shown.has(folder)).sort(), [])
  assert.deepEqual([...shown].filter((folder) => !folders.includes(folder)).sort(), [])
})

test('every file named by the architecture page and CONTRIBUTING exists', () => {
  const text = page + readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const files = [...text.matchAll(/`((?:src|test|scripts|bench|[a-z-]+)\/[a-z0-9/-]+\.ts)`/g)].map(
    ([, name = '']) => name,
  )
  assert.ok(files.length > 30)
  const missing = files.filter((file) => !existsSync(join(root, file)) && !existsSync(join(root, 'src', file)))
  assert.deepEqual(missing, [])
})
