import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlantedBug } from './planted-bugs.ts'

const root = join(import.meta.dirname, '../..')

/** The source of a file with a bug. Throws when the bug no longer fits. */
export function withBug(source: string, { name, file, find, replace }: PlantedBug): string {
  if (source.split(find).length !== 2) throw new Error(`the bug "${name}" no longer fits ${file}`)
  return source.replace(find, () => replace)
}

/** Runs the simulator on a copy of the source with a bug. Returns whether it fails, and what it prints. */
export async function simulateWith(bug: PlantedBug, seeds: number): Promise<{ isFound: boolean; output: string }> {
  const changed = withBug(readFileSync(join(root, bug.file), 'utf8'), bug)
  const copy = mkdtempSync(join(tmpdir(), 'shoal-planted-'))
  try {
    for (const folder of ['src', 'scripts', 'test/support', 'test/protocol'])
      cpSync(join(root, folder), join(copy, folder), { recursive: true })
    cpSync(join(root, 'package.json'), join(copy, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, bug.file), changed)
    return await new Promise((resolve) =>
      execFile(
        process.execPath,
        ['scripts/sim.ts', '--seeds', String(seeds), '--stop-at-first'],
        { cwd: copy, maxBuffer: 2 ** 26 },
        (error, stdout, stderr) =>
          resolve({ isFound: error !== null && stderr.includes('fails:'), output: `${stdout}${stderr}` }),
      ),
    )
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
