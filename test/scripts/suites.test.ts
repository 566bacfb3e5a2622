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
  const run = [...patterns(), ...Object.keys(apart).map((name) => `test/${name}/**/*.test.ts`)].flatMap(found)
  assert.deepEqual(run.sort(), found('test/**/*.test.ts').sort())
  for (const [folder, script] of Object.entries(apart))
    assert.match(scripts[script] ?? '', new RegExp(`test/${folder}/`))
})
