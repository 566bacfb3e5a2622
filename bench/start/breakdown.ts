import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Launch, type Running, startAndWait } from './process.ts'
import { median } from './statistics.ts'

const preload = fileURLToPath(new URL('trace.cjs', import.meta.url))

/** Milliseconds by name, in chronological order. */
export type Parts = ReadonlyMap<string, number>

export interface Breakdown {
  readonly phases: Parts
  /** The parts of the phases that load modules. */
  readonly modules: Parts
  /** Calls that access the data folder and generate the key: a part of the phase that opens it. */
  readonly calls: Parts
}

/** The output of bench/start/trace.cjs. */
interface Trace {
  readonly firstLine: number
  readonly origin: number
  readonly timeOrigin: number
  readonly modules: readonly { readonly at: number; readonly url: string }[]
  readonly calls: readonly { readonly label: string; readonly ms: number }[]
}

/** One traced start, which is a little slower. */
export async function traced(launch: Launch, temporary: string, parts: PartsOf): Promise<Breakdown> {
  const file = join(temporary, 'trace.json')
  const args = ['--require', preload, ...launch.args, ...parts.args]
  const running = await startAndWait({ ...launch, args, env: { ...launch.env, ...parts.env, BENCH_TRACE: file } })
  await running.stop()
  return parts.read(JSON.parse(readFileSync(file, 'utf8')) as Trace, running)
}

interface PartsOf {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly read: (trace: Trace, running: Running) => Breakdown
}

export const partsOfBare: PartsOf = { args: [], env: {}, read: readBare }

/** The debug line `starting` is logged when the data folder and the database are open. */
export const partsOfShoal: PartsOf = { args: ['--log-json', 'on'], env: { SHOAL_LOG: 'debug' }, read: readShoal }

/** The median of each part over all rounds. */
export function medians(rounds: readonly Breakdown[]): Breakdown {
  const over = (pick: (breakdown: Breakdown) => Parts): Parts => {
    const names = new Set(rounds.flatMap((round) => [...pick(round).keys()]))
    return new Map([...names].map((name) => [name, median(rounds.map((round) => pick(round).get(name) ?? 0))]))
  }
  return {
    phases: over(({ phases }) => phases),
    modules: over(({ modules }) => modules),
    calls: over(({ calls }) => calls),
  }
}

function readBare(trace: Trace, { spawnedAt, boundAt, readyAt }: Running): Breakdown {
  const phases = between(spawnedAt, [
    ['exec until the main function of node', trace.origin],
    ['node boots until the first line of a program', trace.firstLine],
    ['program: load node:http, listen, say the port', boundAt],
    ['first answer of /readyz', readyAt],
  ])
  return { phases, modules: new Map(), calls: new Map() }
}

function readShoal(trace: Trace, { spawnedAt, readyAt, output }: Running): Breakdown {
  const cli = moduleAt(trace, /\/(?:cli|dist)\/main\.[jt]s$/)
  const run = moduleAt(trace, /\/(?:commands\/run|dist\/run-\w+)\.[jt]s$/)
  const logged = logTimes(trace, output())
  const folder = logged('node', /^using data directory/)
  const phases = between(spawnedAt, [
    ['exec until the main function of node', trace.origin],
    ['node boots until the first line of a program', trace.firstLine],
    ['launcher bin/shoal', cli],
    ['load the command line (cli/main) and parse it', run],
    ['load the node (cli/commands/run)', folder],
    ['open data folder, database and settings', logged('node', /^starting$/)],
    ['bind the API', logged('API_BOUND', /./)],
    ['open the stores in their threads, bind admin interface and swarm port', logged('NODE_STARTED_BY_HOST', /./)],
    ['first answer of /readyz', readyAt],
  ])
  return { phases, modules: moduleTimes(trace, [cli, run, folder]), calls: callTimes(trace) }
}

function between(start: number, ends: readonly (readonly [string, number])[]): Parts {
  let last = start
  const parts = new Map<string, number>()
  for (const [name, at] of ends) {
    parts.set(name, at - last)
    last = at
  }
  return parts
}

function moduleAt({ modules }: Trace, url: RegExp): number {
  const found = modules.find((module) => url.test(module.url))
  if (found === undefined) throw new Error(`the traced start did not load a module like ${url.source}`)
  return found.at
}

interface LogLine {
  readonly timestamp: string
  readonly target: string
  readonly message: string
}

/** The time of a log line, on the clock of the trace. */
function logTimes({ origin, timeOrigin }: Trace, output: string): (target: string, message: RegExp) => number {
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine)
  return (target, message) => {
    const line = lines.find((line) => line.target === target && message.test(line.message))
    if (line === undefined) throw new Error(`the log of the traced start has no line ${target} ${message.source}`)
    return wallMillis(line.timestamp) - timeOrigin + origin
  }
}

/** `Date` has no microseconds. */
function wallMillis(timestamp: string): number {
  const [, micros = '0'] = /\.[0-9]{3}([0-9]{3})Z$/.exec(timestamp) ?? []
  return Date.parse(timestamp) + Number(micros) / 1000
}

/**
 * Node loads a module graph sequentially, and evaluates it when it is complete. So the time between two module requests
 * belongs to the first of them, and the time after the last request of a phase is evaluation.
 */
function moduleTimes({ modules }: Trace, [start, ...ends]: readonly number[]): Parts {
  const parts = new Map<string, number>()
  let from = start ?? 0
  for (const end of ends) {
    const requests = modules.filter(({ at }) => at >= from && at < end)
    for (const [i, { at, url }] of requests.entries()) {
      const next = requests[i + 1]
      // A synchronous request for a builtin module by running code.
      const waitedFor = requests[i - 1]?.url === 'running' && url.startsWith('node:')
      const runs = !waitedFor && (next === undefined || next.url === 'running')
      add(parts, runs ? running : groupOf(url), (next?.at ?? end) - at)
    }
    from = end
  }
  return new Map([...parts].sort(([, a], [, b]) => b - a))
}

const running = 'running the code of all these, and the command line parser'

function groupOf(url: string): string {
  if (url === 'node:http' || url === 'node:crypto' || url === 'node:sqlite') return url
  if (url === 'running') return running
  if (url.startsWith('node:')) return 'other modules of Node'
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? []
  return name === undefined ? 'files of shoal' : `package ${name}`
}

function callTimes({ calls }: Trace): Parts {
  const parts = new Map<string, number>()
  for (const { label, ms } of calls) add(parts, label.replace(/\s+/g, ' ').trim(), ms)
  return parts
}

function add(parts: Map<string, number>, name: string, ms: number): void {
  parts.set(name, (parts.get(name) ?? 0) + ms)
}
