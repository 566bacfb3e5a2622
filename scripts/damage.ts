import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFlips } from '../test/store/damage/flip-processes.ts'
import type { Damaged } from './damage/damage-process.ts'
import { makeFolders } from './damage/data-folder.ts'

/**
 * Flips random bits and zeroes random pages of all files of a data folder, one at a time. Each is detected by a start
 * or by `shoal store verify`, or is harmless. No result is wrong or silently missing.
 */
const { values } = parseArgs({
  options: {
    flips: { type: 'string', default: '2000' },
    pages: { type: 'string', default: '500' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    processes: { type: 'string', default: '2' },
    verbose: { type: 'boolean', default: false },
  },
})
const { flips, pages, seed, verbose } = values
const processes = Number(values.processes)

const counts = new Map<string, Map<string, number>>()
const wrong: Damaged[] = []
let done = 0

function take(damaged: Damaged): void {
  const { kind, state, file, place, outcome, why } = damaged
  const row = `${file.replace(/-[0-9a-f]{16}/, '')}, ${state}`
  const outcomes = counts.get(row) ?? new Map<string, number>()
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  counts.set(row, outcomes)
  if (outcome === 'wrong') wrong.push(damaged)
  if (outcome === 'wrong' || verbose) console.error(`${outcome}: ${kind}, ${row}, ${place}: ${why}`)
  if (++done % 500 === 0) console.log(`${done} done`)
}

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'shoal-damage-'))
try {
  console.log(`${flips} flipped bits and ${pages} zeroed pages; --seed ${seed} repeats them`)
  await makeFolders(folder)
  await runFlips(
    new URL('./damage/damage-process.ts', import.meta.url),
    Array.from({ length: processes }, (_, i) => [folder, seed, String(i), String(processes), flips, pages]),
    take,
  )
  console.table(Object.fromEntries([...counts].sort().map(([row, outcomes]) => [row, Object.fromEntries(outcomes)])))
  console.log(
    wrong.length === 0
      ? `all ${done} were noticed or did no harm`
      : `${wrong.length} of ${done} led to something wrong; --seed ${seed}`,
  )
  process.exitCode = wrong.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
