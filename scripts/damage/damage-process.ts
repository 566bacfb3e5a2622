import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../crash/random.ts'
import { type State, states } from './data-folder.ts'
import { judgeFolder, type Verdict } from './judge.ts'
import { type Started, startOn } from './start.ts'

/** The outcome of one piece of damage. */
export interface Damaged extends Verdict {
  readonly kind: 'flip' | 'zeroed page'
  readonly state: State
  readonly file: string
  readonly place: string
}

/** Flips bits and zeroes pages of copies of data folders, in its own process: damage may crash or hang it. */
const [parent = '', seed = '', first = '0', step = '1', flips = '0', pages = '0'] = process.argv.slice(2)
const work = mkdtempSync(join(parent, 'work-'))
const pageBytes = 4096

function fresh(state: State): string {
  const copy = join(work, state)
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(parent, state), copy, { recursive: true })
  return copy
}

/** All files that are not empty, as the lock file is. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile() && statSync(join(folder, name)).size > 0)
    .sort()
}

function damage(file: string, kind: Damaged['kind'], random: Random): string {
  const bytes = readFileSync(file)
  if (kind === 'flip') {
    const [at, bit] = [random.below(bytes.length), random.below(8)]
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
    writeFileSync(file, bytes)
    return `bit ${bit} of byte ${at} of ${bytes.length}`
  }
  const page = random.below(Math.ceil(bytes.length / pageBytes))
  writeFileSync(file, bytes.fill(0, page * pageBytes, Math.min(bytes.length, (page + 1) * pageBytes)))
  return `page ${page} of ${Math.ceil(bytes.length / pageBytes)}`
}

const expected = {} as Record<State, Started>
for (const state of states) expected[state] = await startOn(fresh(state))

try {
  for (let i = Number(first); i < Number(flips) + Number(pages); i += Number(step)) {
    // Derived from the number, so that the damage does not depend on the process.
    const random = new Random(`${seed} ${i}`)
    const kind = i < Number(flips) ? 'flip' : 'zeroed page'
    const state = random.pick(states)
    const folder = fresh(state)
    const file = random.pick(filesIn(folder) as [string, ...string[]])
    const place = damage(join(folder, file), kind, random)
    const verdict = await judgeFolder(folder, expected[state])
    process.send?.({ kind, state, file, place: `${place} (number ${i})`, ...verdict } satisfies Damaged)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
  process.disconnect?.()
}
