import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { effectProblems } from '../../scripts/effects.ts'
import { temporaryFolder } from '../support/folder.ts'

/** The problems that the check finds in a tree with these files. */
function problems(t: TestContext, files: Record<string, string>): string[] {
  const source = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), text)
  }
  return effectProblems(source)
}

test('a module that uses the clock, timers or random numbers of the system is reported, in any form', (t) => {
  const forms: Readonly<Record<string, readonly string[]>> = {
    'the time': [
      'const now = Date.now()',
      'const file = new FileStore(path, Date.now)',
      'const date = new Date()',
      'const date = new Date',
      'const text = Date()',
      'const began = performance.now()',
      'const began = globalThis.performance.now()',
      "import { performance } from 'node:perf_hooks'",
      'const began = process.hrtime.bigint()',
      'const seconds = process.uptime()',
    ],
    'a timer': [
      'setTimeout(work, 5)',
      'globalThis.setTimeout(work, 5)',
      'clearTimeout(timer)',
      'const timer = setInterval(work, 5)',
      'void setImmediate(work)',
      "import { setTimeout as sleep } from 'node:timers/promises'",
      "import { setTimeout as sleep } from 'timers/promises'",
      'const signal = AbortSignal.timeout(5)',
    ],
    'random numbers': [
      'const number = Math.random()',
      "import { randomBytes } from 'node:crypto'",
      "import { randomUUID as id } from 'node:crypto'",
      'const number = randomInt(5)',
      'randomFillSync(buffer)',
      'crypto.getRandomValues(bytes)',
      "const keys = generateKeyPairSync('ed25519')",
    ],
  }
  for (const [what, texts] of Object.entries(forms))
    for (const text of texts) {
      const found = problems(t, { 'events/a.ts': `\n${text}\n` })
      assert.ok(found.length > 0, text)
      for (const problem of found)
        assert.match(problem, new RegExp(`^events/a\\.ts:2: asks the system for ${what} \\(.+\\)`), text)
    }
})

test('a module with an injected clock, timers and random numbers passes', (t) => {
  const allowed = [
    'this.#timer = this.#timers.setInterval(work, 5)',
    'timers.setTimeout(work, 5)',
    'timers.clear(timer)',
    'const began = clock.steadyMs()',
    'const seed = random.bytes(16)',
    'const text = new Date(micros / 1000).toISOString()',
    "type Time = Pick<Runtime, 'clock' | 'timers'>",
    '// With the digits that Date.now() lacks.',
    '/** Not Math.random():\n * it has no seed. */',
  ]
  for (const text of allowed) assert.deepEqual(problems(t, { 'events/a.ts': text }), [], text)
})

test('only composition roots may use the implementations of the system', (t) => {
  const text = "import { systemRuntime } from '../runtime/system-runtime.ts'"
  assert.deepEqual(problems(t, { 'node/node.ts': text, 'cli/commands/run.ts': text }), [])
  assert.deepEqual(problems(t, { 'files/files.ts': text }), [
    'files/files.ts:1: takes systemRuntime, which is for composition roots only',
  ])
})

test('the runtime folder may use the system', (t) => {
  assert.deepEqual(problems(t, { 'runtime/clock.ts': 'export const now = () => Date.now()' }), [])
})

test('the source tree passes the check', () => {
  assert.deepEqual(effectProblems(join(import.meta.dirname, '../../src')), [])
})
