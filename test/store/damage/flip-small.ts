import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Flipped } from './flip-processes.ts'
import { judge } from './judge.ts'
import { expectedResults, runAll } from './queries.ts'
import { columnBits, writeFlipped, writeSound } from './rows.ts'
import { buildSmallStore } from './small-store.ts'

/**
 * A separate process, because damage may crash or hang it: flips bits of a small store one by one, runs all queries
 * each time, and sends the outcome to its parent.
 */
const [parent = '', where = 'rows', start = '0', step = '1'] = process.argv.slice(2)
const folder = mkdtempSync(join(parent, 'flip-'))
const store = buildSmallStore(folder)
const expected = expectedResults(store)
const sound = readFileSync(store.file)
const damaged = { ...store, file: join(folder, 'damaged.db') }

function report(flipped: Flipped): void {
  process.send?.(flipped)
}

function flipRows(): void {
  const bits = columnBits(store.file)
  for (let i = Number(start); i < bits.length; i += Number(step)) {
    const bit = bits[i] as (typeof bits)[number]
    const place = `${bit.table}.${bit.column}`
    if (!writeFlipped(damaged.file, sound, bit)) continue
    report({ place, bit: `bit ${bit.bit} of the row ${String(bit.key[1])}`, ...judge(expected, runAll(damaged)) })
  }
}

function flipFile(): void {
  for (let i = Number(start); i < 8 * sound.length; i += Number(step)) flip('the file', i >> 3, i & 7)
}

/** Changes the case of letters in the schema of the index tables: names in SQLite are case-insensitive. */
function flipSpelling(): void {
  const letters = ['range', 'posting', 'times'].flatMap((table) => {
    const text = /CREATE TABLE .*?\(.*?\) STRICT/.exec(
      sound.toString('latin1', sound.indexOf(`CREATE TABLE ${table} `)),
    )
    const from = sound.indexOf(`CREATE TABLE ${table} `)
    return Array.from(text?.[0] ?? '', (letter, i) => (/[a-z]/i.test(letter) ? from + i : -1)).filter((at) => at >= 0)
  })
  for (let i = Number(start); i < letters.length; i += Number(step)) flip('spelling', letters[i] as number, 5)
}

function flip(place: string, at: number, bit: number): void {
  const bytes = Buffer.from(sound)
  bytes[at] = (bytes[at] as number) ^ (1 << bit)
  writeSound(damaged.file, bytes)
  report({ place, bit: `bit ${bit} of byte ${at}`, ...judge(expected, runAll(damaged)) })
}

const ways: Readonly<Record<string, () => void>> = { rows: flipRows, file: flipFile, spelling: flipSpelling }

try {
  ways[where]?.()
} finally {
  rmSync(folder, { recursive: true, force: true })
  process.disconnect?.()
}
