import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { NodeProcess } from './node-process.ts'

/**
 * Runs the conformance cases against a fresh node of this tree: `npm run conformance -- [--only REGEX] [--strict]`.
 * Without arguments, those of the parts that are there.
 */
const root = join(import.meta.dirname, '..')

/** The parts that are there: all but files and websites, and what asks for a token there. */
const ready = [
  'aql-',
  'http-auth: (?!no Authorization header(: /api/v2/files| on upload))',
  'http-node: ',
  'http-events: ',
  'http-more: (auth|node|events|aql)',
]

const node = await NodeProcess.start()
try {
  const given = process.argv.slice(2)
  const filter = given.includes('--only') ? [] : ['--only', `^(${ready.join('|')})`]
  const args = [join(root, 'conformance/run.mjs'), '--url', node.url, ...filter, ...given]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  await node.stop()
}
