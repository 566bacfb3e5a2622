// `npm test [-- FILE…]`: runs all tests that need nothing but this repository, or the given files.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { builtPackage } from './built-package.ts'
import { patterns } from './suites.ts'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const files = given.length > 0 ? given : patterns()

// Every test file and every node it starts is a process that compiles the same source.
const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') }
// Nodes of tests must not find each other; those of the tests of the swarm say so.
const env = { ...compiled, SHOAL_STANDALONE: '1', ...process.env, BUILT_PACKAGE: await builtPackage() }
// Many test files mostly wait for processes and disks: one per processor.
const together = `--test-concurrency=${availableParallelism()}`
const bundled = ['--import', join(import.meta.dirname, 'bundled-threads.ts')]
const args = [...bundled, '--test', together, '--test-timeout=600000', '--test-reporter=spec', ...files]
spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
