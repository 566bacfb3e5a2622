import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as fc from '../support/property.ts'
import { runSeed } from '../support/seed.ts'

const root = join(import.meta.dirname, '../..')

test('a failing property reports the seed that reproduces it', async () => {
  const repeated = { message: new RegExp(`\\nSHOAL_TEST_SEED=${runSeed} repeats it$`) }
  assert.throws(
    () =>
      fc.assert(
        fc.property(fc.nat(), () => {
          throw new Error('no')
        }),
      ),
    repeated,
  )
  await assert.rejects(fc.assert(fc.asyncProperty(fc.nat(), async () => false)), repeated)
  assert.throws(
    () =>
      fc.assert(
        fc.property(fc.nat(), () => false),
        { seed: 7 },
      ),
    /SHOAL_TEST_SEED=7 repeats it$/,
  )
  assert.equal(fc.check(fc.property(fc.nat(), () => false)).seed, runSeed)
})

/** The numbers that a property generates in a process with a seed. */
function numbers(seed: string): Promise<string> {
  const module = new URL('../support/property.ts', import.meta.url).href
  const program = `import * as fc from '${module}'
    fc.assert(fc.property(fc.nat(), (n) => console.log(n)), { numRuns: 20 })`
  return new Promise((resolve, reject) => {
    const env = { ...process.env, SHOAL_TEST_SEED: seed }
    execFile(process.execPath, ['--input-type=module', '--eval', program], { env }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
}

test('SHOAL_TEST_SEED reproduces a run, and a value that is not a number is refused', async () => {
  const [first, same, other] = await Promise.all([numbers('1'), numbers('1'), numbers('2')])
  assert.equal(first, same)
  assert.notEqual(first, other)
  await assert.rejects(numbers('x'), /SHOAL_TEST_SEED is x: a whole number is needed/)
})

test('random choices of tests and scripts are seeded: no direct import of fast-check, no Math.random', () => {
  const files = ['test', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  )
  const direct = /from 'fast-check'|import\('fast-check'\)|\bMath\.random\(/
  // The last one contains such programs as text.
  const exempt = ['test/support/property.ts', 'test/scripts/property.test.ts', 'test/scripts/effects.test.ts']
  const found = files.filter((file) => direct.test(readFileSync(join(root, file), 'utf8')) && !exempt.includes(file))
  assert.deepEqual(found, [], 'import test/support/property.ts, or use testRandom of test/support/seed.ts')
})
