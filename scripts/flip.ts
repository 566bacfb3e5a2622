import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Flipped, runFlips } from '../test/store/damage/flip-processes.ts'
import { buildLargeStore } from '../test/store/damage/large-store.ts'

/** Flips random bits of a large store, one at a time, and reads it: a result is correct, or an error. */
const { values } = parseArgs({
  options: {
    flips: { type: 'string', default: '100000' },
    events: { type: 'string', default: '200000' },
    processes: { type: 'string', default: String(availableParallelism()) },
    seed: { type: 'string', default: String(Date.now()) },
  },
})
const [flips, events, processes] = [values.flips, values.events, values.processes].map(Number) as [
  number,
  number,
  number,
]

const counts = new Map<string, Map<string, number>>()
const wrong: Flipped[] = []
let done = 0
const started = performance.now()

function take(flipped: Flipped): void {
  const outcomes = counts.get(flipped.place) ?? new Map<string, number>()
  outcomes.set(flipped.outcome, (outcomes.get(flipped.outcome) ?? 0) + 1)
  counts.set(flipped.place, outcomes)
  if (flipped.outcome === 'wrong') {
    wrong.push(flipped)
    console.error(`WRONG: ${flipped.place}, ${flipped.bit}: ${flipped.why}`)
  }
  if (++done % 5000 === 0)
    console.log(`${done} of ${flips} after ${Math.round((performance.now() - started) / 1000)} s`)
}

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'shoal-flip-'))
try {
  const file = buildLargeStore(folder, events)
  console.log(
    `a store of ${events} events; flipping ${flips} bits in ${processes} processes; --seed ${values.seed} repeats them`,
  )
  const share = String(Math.ceil(flips / processes))
  await runFlips(
    new URL('../test/store/damage/flip-large.ts', import.meta.url),
    Array.from({ length: processes }, (_, i) => [file, share, `${values.seed} ${i}`]),
    take,
  )
  console.table(
    Object.fromEntries([...counts].sort().map(([place, outcomes]) => [place, Object.fromEntries(outcomes)])),
  )
  console.log(wrong.length === 0 ? 'no wrong answer' : `${wrong.length} wrong answers`)
  process.exitCode = wrong.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
