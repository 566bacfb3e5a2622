import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
/** What needs more than this repository has a command of its own. */
const apart = ['clients', 'disk', 'network', 'package']

test('every test is run by a command, and by one only', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const [, suites = ''] = /const suites = '(.*)'/.exec(readFileSync(join(root, 'scripts/test.ts'), 'utf8')) ?? []
  const pattern = `test/{${suites}}/*.test.ts`
  const run = new Set(globSync(pattern, { cwd: root }).map((file) => file.split('/')[1]))
  const folders = readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && globSync(`test/${entry.name}/*.test.ts`, { cwd: root }).length > 0)
    .map(({ name }) => name)
  assert.deepEqual([...run, ...apart].sort(), folders.sort())
  for (const name of apart) assert.match(scripts[`test:${name}`] ?? '', new RegExp(`test/${name}/`))
})
