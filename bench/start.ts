// `npm run bench:start [-- --rounds N] [--json]`: time from exec until /readyz responds, and memory at that point,
// relative to a bare Node HTTP server in the same run, with a breakdown of the time.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Breakdown, medians, partsOfBare, partsOfShoal, traced } from './start/breakdown.ts'
import { killAll, type Launch, type Memory, startAndWait } from './start/process.ts'
import { layOut, type Programs } from './start/programs.ts'
import { type Report, type Row, text } from './start/report.ts'
import { ratio, summary } from './start/statistics.ts'

interface Subject {
  readonly name: string
  readonly launch: () => Launch
}

/** The first one is the baseline. */
function subjects({ bare, built, source, newFolder, folderOfBuilt, folderOfSource }: Programs): Subject[] {
  const cached = (launch: Launch): Launch => ({
    ...launch,
    env: { ...launch.env, NODE_COMPILE_CACHE: `${launch.env['TMPDIR']}/compiled` },
  })
  return [
    { name: 'bare node, HTTP server', launch: bare },
    { name: 'shoal, first start', launch: () => built(newFolder()) },
    { name: 'shoal, second start', launch: () => built(folderOfBuilt) },
    { name: '… with a compile cache', launch: () => cached(built(folderOfBuilt)) },
    { name: 'source, first start', launch: () => source(newFolder()) },
    { name: 'source, second start', launch: () => source(folderOfSource) },
  ]
}

interface Start {
  readonly ms: number
  readonly memory: Memory | undefined
}

async function measure({ launch }: Subject): Promise<Start> {
  const running = await startAndWait(launch())
  try {
    return { ms: running.readyAt - running.spawnedAt, memory: await running.memoryAtRest() }
  } finally {
    await running.stop()
  }
}

/** Interleaves the programs: each once per round, in rotating order, so that none always runs after the same one. */
async function measureAll(subjects: readonly Subject[], rounds: number): Promise<Row[]> {
  const starts = subjects.map((): Start[] => [])
  // Warms up the compile cache and the page cache.
  for (const subject of subjects) await measure(subject)
  for (let round = 0; round < rounds; round++)
    for (let i = 0; i < subjects.length; i++) {
      const index = (round + i) % subjects.length
      const subject = subjects[index]
      if (subject !== undefined) starts[index]?.push(await measure(subject))
    }
  const [base = []] = starts
  return subjects.map(({ name }, index) => rowOf(name, starts[index] ?? [], base))
}

function rowOf(name: string, starts: readonly Start[], base: readonly Start[]): Row {
  const millis = (list: readonly Start[]): number[] => list.map(({ ms }) => ms)
  const rss = (list: readonly Start[]): number[] => list.map(({ memory }) => memory?.rssMb ?? Number.NaN)
  return {
    name,
    readyMs: { ...summary(millis(starts)), ratio: ratio(millis(starts), millis(base)) },
    rssMb: { ...summary(rss(starts)), ratio: ratio(rss(starts), rss(base)) },
    anonymousMb: summary(starts.map(({ memory }) => memory?.anonymousMb ?? Number.NaN)),
  }
}

async function breakDown(programs: Programs, temporary: string, rounds: number): Promise<Report['breakdown']> {
  const [bare, first, second]: [Breakdown[], Breakdown[], Breakdown[]] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    bare.push(await traced(programs.bare(), temporary, partsOfBare))
    first.push(await traced(programs.built(programs.newFolder()), temporary, partsOfShoal))
    second.push(await traced(programs.built(programs.folderOfBuilt), temporary, partsOfShoal))
  }
  return { bare: medians(bare), first: medians(first), second: medians(second) }
}

function readArguments(): { rounds: number; json: boolean } {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '15' }, json: { type: 'boolean', default: false } },
  })
  const rounds = Number(values.rounds)
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds}: a number from 1 on`)
  return { rounds, json: values.json }
}

const { rounds, json } = readArguments()
const temporary = mkdtempSync(join(tmpdir(), 'shoal-bench-start-'))
process.on('exit', () => {
  killAll()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

const programs = await layOut(temporary)
const report: Report = {
  rounds,
  node: process.version,
  machine: `${process.platform} ${process.arch}, ${cpus().length} CPUs, data folders in ${tmpdir()}`,
  rows: await measureAll(subjects(programs), rounds),
  breakdown: await breakDown(programs, temporary, rounds),
}
console.log(text(report, json))
