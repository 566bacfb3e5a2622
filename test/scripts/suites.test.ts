import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { apart, patterns } from '../../scripts/suites.ts'

const root = join(import.meta.dirname, '../..')

test('every test file is run by exactly one command', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const found = (pattern: string): string[] => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] })
  const run = [...patterns(), ...apart.map((name) => `test/${name}/*.test.ts`)].flatMap(found)
  assert.deepEqual(run.sort(), found('test/**/*.test.ts').sort())
  for (const name of apart) assert.match(scripts[`test:${name}`] ?? '', new RegExp(`test/${name}/`))
})
