import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * Runs the conformance cases against a fresh node of this tree: `npm run conformance -- [--only REGEX] [--strict]`.
 */
const root = join(import.meta.dirname, '..')

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
  const args = [join(root, 'conformance/run.mjs'), '--url', `http://${api[0]}`, ...process.argv.slice(2)]
  const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number | null]
  process.exitCode = code ?? 1
} finally {
  node.stdin.end()
  await ended
  rmSync(folder, { recursive: true, force: true })
}
