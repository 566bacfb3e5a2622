// `npm run bench:swarm [-- --events N] [--late N] [--rounds N] [--other "COMMAND --working-dir {folder} …"]`: replication
// between two nodes of the built package on machines of their own (network namespaces, needs root), and between two
// nodes of another program, alternating. Prints the middle and the worst of all rounds.
// - live: from the start of a publish to the arrival at a subscriber of the other node (swarm.mjs);
// - bulk: events published in batches until the other node has all of them (swarm.mjs);
// - late: a third node with an empty folder, from the start of its process until it has all events.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtPackage } from '../scripts/built-package.ts'
import { enterHub } from '../scripts/site/in-hub.ts'
import { Site } from '../scripts/site/site.ts'
import { median } from './start/statistics.ts'
import { type Implementation, other, type RunningNode, shoal } from './swarm/implementation.ts'

type Figures = Record<string, number>

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '50000' },
    late: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    other: { type: 'string' },
  },
})

/** The figures of swarm.mjs that are printed, and which of two values is worse. */
const worst: Readonly<Record<string, (figures: readonly number[]) => number>> = {
  live_ms_p50: (figures) => Math.max(...figures),
  live_ms_p99: (figures) => Math.max(...figures),
  bulk_events_s: (figures) => Math.min(...figures),
  late_ms: (figures) => Math.max(...figures),
}

async function present(node: RunningNode, token: string): Promise<number> {
  const response = await fetch(`${node.url}/api/v2/events/offsets`, { headers: { authorization: `Bearer ${token}` } })
  const { present } = (await response.json()) as { present: Readonly<Record<string, number>> }
  return Object.values(present).reduce((sum, offset) => sum + offset + 1, 0)
}

async function tokenOf({ url }: RunningNode): Promise<string> {
  const body = JSON.stringify({ appId: 'com.example.bench', displayName: 'Bench', version: '1.0.0' })
  const headers = { 'content-type': 'application/json' }
  return ((await (await fetch(`${url}/api/v2/auth`, { method: 'POST', headers, body })).json()) as { token: string })
    .token
}

/** Runs swarm.mjs on two nodes. */
function between(from: RunningNode, to: RunningNode, events: string): Figures {
  const program = join(import.meta.dirname, 'swarm.mjs')
  const args = [program, '--from', from.url, '--to', to.url, '--events', events]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Figures
}

async function round(implementation: Implementation, site: Site, folder: string): Promise<Figures> {
  const nodes: RunningNode[] = []
  const start = async (index: number): Promise<RunningNode> => {
    const data = join(folder, String(index))
    mkdirSync(data, { recursive: true })
    const node = await implementation.start(site.machine(index), data)
    nodes.push(node)
    return node
  }
  try {
    const [from, to] = [await start(0), await start(1)]
    // Connects them, and warms both up.
    between(from, to, '5000')
    const figures = between(from, to, values.events)
    const more = Number(values.late) - Number(values.events)
    if (more > 0) between(from, to, String(more))
    const began = performance.now()
    const late = await start(2)
    const token = await tokenOf(late)
    while ((await present(late, token)) < Number(values.late)) await new Promise((resolve) => setTimeout(resolve, 20))
    return { ...figures, late_ms: Math.round(performance.now() - began) }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-swarm-'))
  const site = Site.create(3)
  try {
    const implementations = [shoal(await builtPackage())]
    if (values.other !== undefined) implementations.push(other(values.other))
    const results = new Map<Implementation, Figures[]>(implementations.map((one) => [one, []]))
    for (let i = 0; i < Number(values.rounds); i++)
      for (const one of implementations) {
        const figures = await round(one, site, join(folder, 'round'))
        console.error(`round ${i + 1}, ${one.name}: ${JSON.stringify(figures)}`)
        results.get(one)?.push(figures)
      }
    for (const [{ name }, rounds] of results)
      for (const [figure, worstOf] of Object.entries(worst)) {
        const all = rounds.map((figures) => figures[figure] ?? Number.NaN)
        console.log(`${name.padEnd(8)}${figure.padEnd(16)}middle ${median(all)}, worst ${worstOf(all)}`)
      }
  } finally {
    site.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

enterHub()
await main()
