import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Flipped } from './children.ts'
import { judge } from './judge.ts'
import { ask, rightAnswers } from './questions.ts'
import { columnBits, writeFlipped, writeSound } from './rows.ts'
import { buildSmallStore } from './small-store.ts'

/**
 * A process of its own, since damage may end or stop it: flips bits of a small store, one after the other, asks it
 * everything each time, and tells what came of it.
 */
const [parent = '', where = 'rows', start = '0', step = '1'] = process.argv.slice(2)
const folder = mkdtempSync(join(parent, 'flip-'))
const store = buildSmallStore(folder)
const right = rightAnswers(store)
const sound = readFileSync(store.file)
const damaged = { ...store, file: join(folder, 'damaged.db') }

function tell(flipped: Flipped): void {
  process.send?.(flipped)
}

function flipRows(): void {
  const bits = columnBits(store.file)
  for (let i = Number(start); i < bits.length; i += Number(step)) {
    const bit = bits[i] as (typeof bits)[number]
    const place = `${bit.table}.${bit.column}`
    if (!writeFlipped(damaged.file, sound, bit)) continue
    tell({ place, bit: `bit ${bit.bit} of the row ${String(bit.key[1])}`, ...judge(right, ask(damaged)) })
  }
}

function flipFile(): void {
  for (let i = Number(start); i < 8 * sound.length; i += Number(step)) flip('the file', i >> 3, i & 7)
}

/** Makes large letters of small ones and the other way round in the tables of the index: SQLite takes both for the same name. */
function flipSpelling(): void {
  const letters = ['range', 'posting'].flatMap((table) => {
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
  tell({ place, bit: `bit ${bit} of byte ${at}`, ...judge(right, ask(damaged)) })
}

const ways: Readonly<Record<string, () => void>> = { rows: flipRows, file: flipFile, spelling: flipSpelling }

try {
  ways[where]?.()
} finally {
  rmSync(folder, { recursive: true, force: true })
  process.disconnect?.()
}
