import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { builtPackage } from './built-package.ts'
import { NodeProcess } from './node-process.ts'

/**
 * Runs the conformance cases against a fresh node of the built package:
 * `npm run conformance -- [--only REGEX] [--strict]`.
 */
const root = join(import.meta.dirname, '..')

const node = await NodeProcess.start({ packageFolder: await builtPackage() })
try {
  const args = [join(root, 'conformance/run.mjs'), '--url', node.url, ...process.argv.slice(2)]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  await node.stop()
}
