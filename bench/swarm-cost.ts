// `npm run bench:swarm-cost [-- --events N] [--nodes N] [--idle SECONDS]`: what replication costs beside time, between nodes
// of the built package on machines of their own (network namespaces; needs root and `nft`).
// - wire: bytes of catch-up relative to the JSON of the events, published in batches and one by one, and bytes of a live
//   single event above its tags and payload. Counted with IP and TCP headers, without packets that only acknowledge;
// - memory: of a node with two peers, and with all others, above one that stands alone;
// - idle: processor time and traffic of connected nodes without events, with two and with all others.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtPackage } from '../scripts/built-package.ts'
import { enterHub } from '../scripts/site/in-hub.ts'
import { Site } from '../scripts/site/site.ts'
import { median } from './start/statistics.ts'
import {
  type Bench,
  count,
  eventOf,
  publish,
  report,
  sleep,
  start,
  stopAll,
  untilConnected,
  untilCount,
} from './swarm/measured-nodes.ts'
import { cpuMs, rssMb, SwarmTraffic } from './swarm/usage.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '50000' },
    nodes: { type: 'string', default: '21' },
    idle: { type: 'string', default: '60' },
  },
})
const [events, nodes, idleSeconds] = [Number(values.events), Number(values.nodes), Number(values.idle)]
const liveEvents = 200

async function wireOfCatchUp(bench: Bench, what: string, events: number, batch: number): Promise<void> {
  const from = await start(bench, 0)
  const json = await publish(from, 0, events, batch)
  const expected = await count(from)
  const traffic = new SwarmTraffic(bench.site.machine(1))
  const to = await start(bench, 1)
  await untilCount(to, expected)
  const { received } = traffic.bytes()
  traffic.remove()
  report(`catch-up of ${events} events, ${what}: bytes / JSON`, (received / json).toFixed(3))
  await stopAll(bench)
}

async function wireOfLive(bench: Bench): Promise<void> {
  const [from, to] = [await start(bench, 0), await start(bench, 1)]
  await untilConnected(from, 1)
  const started = await count(from)
  await publish(from, 0, 20, 1)
  await untilCount(to, started + 20)
  const traffic = new SwarmTraffic(bench.site.machine(0))
  let contents = 0
  for (let i = 0; i < liveEvents; i++) {
    const { tags, payload } = eventOf(i)
    contents += JSON.stringify(payload).length + tags.reduce((sum, { length }) => sum + length, 0)
    await publish(from, i, i + 1, 1)
    await untilCount(to, started + 21 + i)
  }
  const { sent } = traffic.bytes()
  traffic.remove()
  report('a live event: bytes above its tags and payload', ((sent - contents) / liveEvents).toFixed(0))
  await stopAll(bench)
}

async function idle(bench: Bench, machines: readonly number[]): Promise<{ memory: number }> {
  for (const machine of machines) await start(bench, machine)
  const { running, site } = bench
  await Promise.all(running.map((node) => untilConnected(node, machines.length - 1)))
  await sleep(15_000)
  const traffic = running.map((_, i) => new SwarmTraffic(site.machine(machines[i] as number)))
  const before = running.map(({ pid }) => cpuMs(pid))
  await sleep(1000 * idleSeconds)
  const cpu = running.map(({ pid }, i) => (cpuMs(pid) - (before[i] as number)) / (10 * idleSeconds))
  const bytes = traffic.map((counted) => {
    const { sent, received } = counted.bytes()
    counted.remove()
    return (sent + received) / idleSeconds
  })
  const memory = median(running.map(({ pid }) => rssMb(pid)))
  const peers = `${machines.length - 1} peers`
  report(
    `idle with ${peers}: % of a processor, middle; most`,
    `${median(cpu).toFixed(2)}; ${Math.max(...cpu).toFixed(2)}`,
  )
  report(`idle with ${peers}: bytes/s, middle; most`, `${median(bytes).toFixed(0)}; ${Math.max(...bytes).toFixed(0)}`)
  await stopAll(bench)
  return { memory }
}

async function memoryAlone(bench: Bench): Promise<number> {
  const node = await start(bench, 0, ['--standalone'])
  await count(node)
  await sleep(15_000)
  const memory = rssMb(node.pid)
  await stopAll(bench)
  return memory
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-swarm-'))
  const site = Site.create(nodes)
  const settings = { '/swarm/swarmKey': randomBytes(32).toString('base64') }
  const bench: Bench = { site, folder, packageFolder: await builtPackage(), settings, running: [] }
  try {
    await wireOfCatchUp(bench, 'in batches of 1000', events, 1000)
    await wireOfCatchUp(bench, 'one by one', Math.ceil(events / 10), 1)
    await wireOfLive(bench)
    const alone = await memoryAlone(bench)
    for (const size of new Set([3, nodes])) {
      const { memory } = await idle(
        bench,
        Array.from({ length: size }, (_, i) => i),
      )
      report(`memory with ${size - 1} peers above one that stands alone, MB`, (memory - alone).toFixed(0))
    }
  } finally {
    await stopAll(bench)
    site.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

enterHub()
await main()
