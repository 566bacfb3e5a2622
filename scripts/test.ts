// `npm test [-- FILE…]`: every test that needs nothing but this repository, or those of some files.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** These need more than this repository, and have commands of their own. */
const apart = ['browser', 'clients', 'disk', 'network', 'package']
const folders = readdirSync(join(root, 'test'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
const suites = folders.map(({ name }) => name).filter((name) => !apart.includes(name))
const given = process.argv.slice(2)
const files = given.length > 0 ? given : ['test/*.test.ts', `test/{${suites.join()}}/*.test.ts`]

// Each file runs in a process of its own, and many of them start nodes: they all compile the same source.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'), ...process.env }
const args = ['--test', '--test-timeout=600000', '--test-reporter=spec', ...files]
spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
