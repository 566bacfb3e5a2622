// `npm run bench:store [-- --events N] [--part append|receive|read|open …] [--json]`: benchmarks of the store, each
// relative to a bare operation of the same run, and compared with its goal.
import { statSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { batches, fill, groupedAppends, sealing, singleAppends } from './store/appending.ts'
import { EventSource } from './store/events.ts'
import { LoopWatch } from './store/measure.ts'
import { opening } from './store/opening.ts'
import { type Filled, lastTen, pointQuery, rareTag, scans } from './store/reading.ts'
import { receiving } from './store/receiving.ts'
import { atMost, figure, type Line, text } from './store/report.ts'
import { openStore, Workspace } from './store/workspace.ts'

const leastEvents = 20_000

const partNames = ['append', 'receive', 'read', 'open']

function readArguments(): { events: number; parts: ReadonlySet<string>; json: boolean } {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '200000' },
      part: { type: 'string', multiple: true, default: partNames },
      json: { type: 'boolean', default: false },
    },
  })
  const events = Number(values.events)
  if (!Number.isSafeInteger(events) || events < leastEvents)
    throw new Error(`--events ${values.events}: a number from ${leastEvents} on`)
  const unknown = values.part.find((name) => !partNames.includes(name))
  if (unknown !== undefined) throw new Error(`--part ${unknown}: one of ${partNames.join(', ')}`)
  return { events, parts: new Set(values.part), json: values.json }
}

async function filled(workspace: Workspace, watch: LoopWatch, events: number, unique: boolean): Promise<Filled> {
  const file = workspace.newStore()
  const source = new EventSource({ unique })
  const store = await openStore(file)
  await fill(store, source, events)
  await watch.during('settling', () => store.settle())
  await store.close()
  return { ...file, source, events, stored: events + 1 }
}

function sizes(ordinary: Filled, unique: Filled): Line[] {
  const line = (name: string, { file, events }: Filled, most: number): Line =>
    figure(name, statSync(file).size / events, 'B', atMost(most), 'per event on disk')
  return [line('size', ordinary, 60), line('size with unique tags', unique, 150)]
}

function loopDelay(watch: LoopWatch): Line[] {
  const [first, ...others] = watch.p99()
  if (first === undefined) return []
  const [activity, worst] = first
  const rest = others.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ')
  return [figure('event loop, 99th percentile', worst, 'ms', atMost(10), activity, rest)]
}

const { events, parts, json } = readArguments()
const workspace = new Workspace()
const watch = new LoopWatch()
const progress = (phase: string): void => {
  if (process.stderr.isTTY && !json) process.stderr.write(`\r\x1b[K${phase}`)
  else if (process.env['BENCH_PROGRESS']) console.error((performance.now() / 1000).toFixed(1), phase)
}

async function appendLines(): Promise<Line[]> {
  progress('single appends')
  const single = await singleAppends(workspace, watch)
  progress('many callers')
  const grouped = await groupedAppends(workspace, watch)
  progress('batches')
  const batched = await batches(workspace, watch, events)
  progress('sealing')
  return [...single, ...grouped, ...batched, ...(await sealing(workspace, watch, events))]
}

async function readLines(): Promise<Line[]> {
  progress('filling')
  const ordinary = await filled(workspace, watch, events, false)
  const unique = await filled(workspace, watch, events, true)
  const sized = sizes(ordinary, unique)
  const store = await openStore(ordinary)
  try {
    progress('scans')
    const scanned = await scans(ordinary, store, watch)
    progress('queries')
    const rare = await rareTag(workspace, ordinary)
    const point = await pointQuery(ordinary, unique)
    return [...scanned, ...rare, ...(await lastTen(workspace, ordinary, store)), ...point, ...sized]
  } finally {
    await store.close()
  }
}

async function openLines(): Promise<Line[]> {
  progress('opening')
  const whole = await filled(workspace, watch, events, false)
  const tenth = await filled(workspace, watch, Math.floor(events / 10), false)
  return opening(workspace, whole, tenth)
}

const lines: Line[] = []
if (parts.has('append')) lines.push(...(await appendLines()))
if (parts.has('receive')) {
  progress('receiving')
  lines.push(...(await receiving(workspace)))
}
if (parts.has('read')) lines.push(...(await readLines()))
if (parts.has('open')) lines.push(...(await openLines()))
progress('')
const report = {
  subject: 'The store',
  events,
  node: process.version,
  machine: `${process.platform} ${process.arch}, ${cpus().length} CPUs, files in ${tmpdir()}`,
  lines: [...lines, ...loopDelay(watch)],
}
console.log(text(report, json))
