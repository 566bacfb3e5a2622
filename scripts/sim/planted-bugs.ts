import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A change of the source that breaks a rule, which the simulator has to find. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** Each is one mistake that is easy to make. The product has no switch for them: they are made in a copy. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a digest that leaves streams out',
    file: 'src/sync/head-table.ts',
    find: '    else this.#digest.set({',
    replace: '    else if (stream.number !== 1) this.#digest.set({',
  },
  {
    name: 'a stream that stays busy when a request for it has ended',
    file: 'src/sync/requests.ts',
    find: '    this.#busy.delete(request.name)\n',
    replace: '',
  },
  {
    name: 'a request that is never repeated',
    file: 'src/sync/requests.ts',
    find: 'filter(({ deadline }) => deadline <= now)',
    replace: 'filter(({ deadline }) => deadline < 0)',
  },
  {
    name: 'a request from one offset too far on',
    file: 'src/sync/next-step.ts',
    find: "{ want: 'events', from: count }",
    replace: "{ want: 'events', from: count + 1 }",
  },
  {
    name: 'a clock that does not follow received events',
    file: 'src/replication/lamport-clock.ts',
    find: '    this.#next = Math.max(this.#next, lamport + 1)\n',
    replace: '',
  },
  {
    name: 'a signature that is not checked',
    file: 'src/protocol/signed.ts',
    find: "      throw new MalformedBytes('the signature is invalid')",
    replace: '      return value',
  },
  {
    name: 'events that only the first neighbours get',
    file: 'src/sync/sync.ts',
    find: '    if (Buffer.compare(digest, table.digest()) === 0) return []',
    replace: '    return []',
  },
]

const root = join(import.meta.dirname, '../..')

/** Runs the simulator on a copy of the source with a bug. Returns whether it fails, and what it prints. */
export async function simulateWith(
  { name, file, find, replace }: PlantedBug,
  seeds: number,
): Promise<{ isFound: boolean; output: string }> {
  const copy = mkdtempSync(join(tmpdir(), 'shoal-planted-'))
  try {
    for (const folder of ['src', 'scripts', 'test/support', 'test/protocol'])
      cpSync(join(root, folder), join(copy, folder), { recursive: true })
    cpSync(join(root, 'package.json'), join(copy, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const source = readFileSync(join(copy, file), 'utf8')
    if (source.split(find).length !== 2) throw new Error(`the bug "${name}" no longer fits ${file}`)
    writeFileSync(
      join(copy, file),
      source.replace(find, () => replace),
    )
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
