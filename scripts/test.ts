// `npm test [-- FILE…]`: every test that needs nothing but this repository, or those of some files.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { patterns } from './suites.ts'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const files = given.length > 0 ? given : patterns()

// Each file runs in a process of its own, and many of them start nodes: they all compile the same source.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'), ...process.env }
// Many files wait for processes and disks: as many at once as there are processors.
const together = `--test-concurrency=${availableParallelism()}`
const args = ['--test', together, '--test-timeout=600000', '--test-reporter=spec', ...files]
spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
