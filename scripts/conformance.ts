import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

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

const folder = mkdtempSync(join(tmpdir(), 'shoal-conformance-'))
const node = spawn(
  process.execPath,
  [join(root, 'bin/shoal'), 'run', '--random', '--print-addresses', '--exit-on-stdin-close', '--working-dir', folder],
  { stdio: ['pipe', 'pipe', 'inherit'] },
)
const ended = once(node, 'exit')
try {
  const [line] = (await Promise.race([once(createInterface(node.stdout), 'line'), ended])) as [unknown]
  if (typeof line !== 'string') throw new Error('the node did not start')
  const { api } = JSON.parse(line) as { api: string[] }
  const given = process.argv.slice(2)
  const filter = given.includes('--only') ? [] : ['--only', `^(${ready.join('|')})`]
  const args = [join(root, 'conformance/run.mjs'), '--url', `http://${api[0]}`, ...filter, ...given]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  node.stdin.end()
  await ended
  rmSync(folder, { recursive: true, force: true })
}
