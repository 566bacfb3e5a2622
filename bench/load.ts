// Benchmark: compares the speed of nodes. It measures nothing itself, and has no bounds: load.mjs measures one run
// against one node, and scripts/load.ts (`npm run load`) is the load test, which passes or fails.
//
// `npm run bench [-- --edge] [--events N] [--rounds N] [--unique] [--other URL[,DATA-FOLDER[,PID]]]…`: runs load.mjs
// (bursts) or edge.mjs (everyday use) on a node of the packed package and on the others, alternating, and prints the
// medians of their figures and of the ratios of all rounds. A short warm-up run comes first: nodes run for weeks. One
// round says little, because the speed of a machine varies by a factor of two from minute to minute. The default is
// nine rounds, or as many as make a million events, but at least three.
import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { cpus } from 'node:os'
import { parseArgs, promisify } from 'node:util'
import { NodeProcess } from '../scripts/node-process.ts'
import { median } from './start/statistics.ts'

const { values } = parseArgs({
  options: {
    edge: { type: 'boolean', default: false },
    events: { type: 'string', default: '100000' },
    rounds: { type: 'string' },
    unique: { type: 'boolean', default: false },
    other: { type: 'string', multiple: true, default: [] },
  },
})

const warmUpEvents = '20000'
const rounds = Number(values.rounds ?? Math.min(9, Math.max(3, Math.round(1_000_000 / Number(values.events)))))

interface Target {
  readonly name: string
  readonly url: string
  readonly data: string | undefined
  readonly pid: string | undefined
}

type Figures = Readonly<Record<string, number>>

/** Figures for which less is better. */
const isTime = (name: string): boolean => /_ms(_|$)|bytes_per_event$|^(rss|memory)_mb$/.test(name)

async function load({ name, url, data, pid }: Target, events: string): Promise<Figures> {
  const program = values.edge ? 'edge.mjs' : 'load.mjs'
  const args = [new URL(program, import.meta.url).pathname, '--url', url, '--name', name, '--events', events]
  if (values.unique) args.push('--unique')
  if (data !== undefined && data !== '' && !values.edge) args.push('--data', data)
  if (pid !== undefined) args.push('--pid', pid)
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
  const figures = Object.entries(JSON.parse(stdout) as Record<string, unknown>)
  return Object.fromEntries(figures.filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
}

/** The latency of a query without results, as a baseline for others. The best of ten, because the node was idle. */
async function emptyQuery({ url }: Target): Promise<number> {
  const manifest = { appId: 'com.example.load', displayName: 'Load', version: '1.0.0' }
  const { token } = JSON.parse(await post(`${url}/api/v2/auth`, manifest)) as { token: string }
  const times: number[] = []
  for (let i = 0; i < 10; i++) {
    const start = performance.now()
    await post(`${url}/api/v2/events/query`, { query: "FROM 'nobody has this tag'", order: 'asc' }, token)
    times.push(performance.now() - start)
  }
  return Math.min(...times)
}

/** Opens a connection per request, as the queries of load.mjs do. */
function post(url: string, value: unknown, token?: string): Promise<string> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false, headers }, (response) => {
      response.toArray().then((parts) => resolve(Buffer.concat(parts).toString()), reject)
    })
    sent.on('error', reject).end(JSON.stringify(value))
  })
}

/** Corrects the disk figures: the folder also contains the events of earlier rounds. */
function withDiskPerEvent(figures: Figures, round: number): Figures {
  const events = Number(values.events)
  const share = events / (Number(warmUpEvents) + events * (round + 1))
  const entries = Object.entries(figures)
  return Object.fromEntries(entries.map(([name, value]) => [name, name.startsWith('disk_') ? value * share : value]))
}

/** The medians of the figures, and of the ratios per round, because the speed of the machine varies between rounds. */
function table(results: ReadonlyMap<Target, readonly Figures[]>): string {
  const [[, ours], ...others] = [...results] as [[Target, readonly Figures[]], ...[Target, readonly Figures[]][]]
  const valuesOf = (rounds: readonly Figures[], name: string): number[] =>
    rounds.map((figures) => figures[name] ?? Number.NaN)
  const middle = (values: readonly number[]): string => String(+median(values).toPrecision(6)).padStart(10)
  const names = Object.keys(ours[0] ?? {}).filter((name) => !/^(events|query_.*_events)$/.test(name))
  const rows = names.map((name) => {
    const mine = valuesOf(ours, name)
    const cells = others.map(([, rounds]) => {
      const theirs = valuesOf(rounds, name)
      const ratio = median(theirs.map((value, i) => (mine[i] ?? Number.NaN) / value))
      return `${middle(theirs)}  ${ratio.toFixed(2).padStart(7)} ×`
    })
    return `${name.padEnd(36)}${isTime(name) ? '↓' : '↑'} ${middle(mine)}  ${cells.join('  ')}`
  })
  const head = `${''.padEnd(38)}${'shoal'.padStart(10)}  ${others.map(([{ name }]) => `${name.padStart(10)}  ${'ratio'.padStart(9)}`).join('  ')}`
  return [head, ...rows].join('\n')
}

const node = await NodeProcess.start({ isPacked: true })
try {
  const targets: Target[] = [
    { name: 'shoal', url: node.url, data: node.folder, pid: String(node.pid) },
    ...values.other.map((text, i) => {
      const [url = '', data, pid] = text.split(',')
      return { name: `other ${i + 1}`, url, data, pid }
    }),
  ]
  const results = new Map<Target, Figures[]>(targets.map((target) => [target, []]))
  console.log(
    `${values.events} events${values.unique ? ' with unique tags' : ''}, rounds: ${rounds}, ${cpus().length} CPUs, Node ${process.version}. ↑ more is better, ↓ less is better.`,
  )
  for (const target of targets) await load(target, warmUpEvents)
  for (let round = 0; round < rounds; round++)
    for (const target of targets) {
      const figures = withDiskPerEvent(await load(target, values.events), round)
      const empty = values.edge ? {} : { query_empty_ms: await emptyQuery(target) }
      results.get(target)?.push({ ...figures, ...empty })
    }
  console.log(table(results))
} finally {
  await node.stop()
}
