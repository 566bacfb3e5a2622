// `npm run crash [-- --kills N] [--seed S]`: crash test of events. Repeatedly kills a process that writes to a store,
// and compares the store with everything that was acknowledged.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ProblemKind, problemKinds } from './crash/problems.ts'
import { run, type Summary } from './crash/rounds.ts'
import { killAll } from './crash/victim-process.ts'

function readArguments(): { kills: number; seed: string } {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '100' }, seed: { type: 'string', default: String(Date.now()) } },
  })
  const kills = Number(values.kills)
  if (!Number.isSafeInteger(kills) || kills < 1) throw new Error(`--kills ${values.kills}: a number from 1 on`)
  return { kills, seed: values.seed }
}

function text(summary: Summary): string {
  const { acknowledged, during, problems } = summary
  const { requests, events, prunes, redactions, seals } = acknowledged
  const rows = [
    ['kills', `${summary.kills}, of ${summary.stores} stores`],
    ['… during', list(during)],
    ['acknowledged', `${events} events, ${list({ requests, prunes, redactions, seals })}`],
    ['unanswered', `${summary.unanswered} requests that were stored`],
    ['compared', `${summary.compared} events, ${summary.segments} segments at the end`],
    ...Object.entries(problemKinds).map(([kind, meaning]) => [
      kind,
      `${String(problems.count(kind as ProblemKind)).padEnd(8)}${meaning}`,
    ]),
    ...summary.kept.map((folder) => ['kept', folder]),
  ]
  return rows.map(([name = '', value]) => `${name.padEnd(14)}${value}`).join('\n')
}

function list(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')
}

function progress({ kills, acknowledged, problems }: Summary): void {
  if (process.stdout.isTTY)
    process.stdout.write(`\r${kills} kills, ${acknowledged.events} events acknowledged, ${problems.total} problems `)
}

const { kills, seed } = readArguments()
const folder = mkdtempSync(join(tmpdir(), 'shoal-crash-'))
let keep = true
process.on('exit', () => {
  killAll()
  if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    keep = false
    process.exit(1)
  })

console.log(`--kills ${kills} --seed ${seed}, in ${folder}`)
const start = performance.now()
const summary = await run({ kills, seed, folder, progress })
const seconds = (performance.now() - start) / 1000
if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
console.log(text(summary))
console.log(`${seconds.toFixed(1)} s, ${(seconds / summary.kills).toFixed(2)} s per kill`)
for (const problem of summary.problems.texts) console.error(problem)
keep = summary.problems.total > 0
process.exitCode = keep ? 1 : 0
