// `npm run bench:swarm-api [-- --peers N] [--events N] [--megabytes N] [--requests N]`: what clients of a node notice of
// its swarm. Nodes of the built package on machines of their own (network namespaces; needs root and `nft`).
// - publishing five events a second with peers and without, and the processor time of the node for each;
// - requests while peers are connected and idle, while events come in, while a file goes out, and while all peers
//   connect at once. Each is followed by a control: the same requests to a node without peers, while another process
//   uses as much processor time as the nodes together did before, without that of the requests.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtPackage } from '../scripts/built-package.ts'
import { enterHub } from '../scripts/site/in-hub.ts'
import { Site } from '../scripts/site/site.ts'
import type { SiteNode } from '../scripts/site/site-node.ts'
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
import { cpuMs } from './swarm/usage.ts'

const { values } = parseArgs({
  options: {
    peers: { type: 'string', default: '20' },
    events: { type: 'string', default: '1000000' },
    megabytes: { type: 'string', default: '120' },
    requests: { type: 'string', default: '300' },
  },
})
const [peers, events, megabytes, requests] = [values.peers, values.events, values.megabytes, values.requests].map(
  Number,
) as [number, number, number, number]
const warmUpRequests = 200
/** Between two requests of a client. */
const pauseMs = 20

interface Latency {
  readonly p50: number
  readonly p99: number
}

/** What a client has noticed, and the processor time of all nodes meanwhile, relative to one processor. */
interface Measured extends Latency {
  readonly cpu: number
}

function latencyOf(times: number[]): Latency {
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/** Publishes an event and queries the last ten, in turn. */
async function request(node: SiteNode, i: number): Promise<void> {
  if (i % 2 === 0) {
    await node.json('POST', '/api/v2/events/publish', { data: [{ ...eventOf(i), tags: ['client'] }] })
    return
  }
  const query = { query: "FEATURES(eventKey) FROM 'client' ORDER DESC LIMIT 10", order: 'desc' }
  await (await node.request('POST', '/api/v2/events/query', query)).text()
}

/** Sends requests one by one, at least `requests` of them and until `busy` ends. */
async function measure(bench: Bench, node: SiteNode, busy: Promise<unknown> = Promise.resolve()): Promise<Measured> {
  let isBusy = true
  const ended = busy.finally(() => {
    isBusy = false
  })
  const running = [...bench.running]
  const usedMs = (): number => running.reduce((sum, { pid }) => sum + cpuMs(pid), 0)
  const [began, before] = [performance.now(), usedMs()]
  const times: number[] = []
  while (isBusy || times.length < requests) {
    const sent = performance.now()
    await request(node, times.length)
    times.push(performance.now() - sent)
    await sleep(pauseMs)
  }
  await ended
  return { ...latencyOf(times), cpu: (usedMs() - before) / (performance.now() - began) }
}

async function warmUp(node: SiteNode): Promise<void> {
  for (let i = 0; i < warmUpRequests; i++) await request(node, i)
}

/** Uses a share of the processors: `cpu` is relative to one. */
function burn(cpu: number): ChildProcess[] {
  const processes = Math.max(1, Math.min(availableParallelism(), Math.ceil(cpu)))
  const busyMs = 10 * Math.min(1, cpu / processes)
  const idleMs = 10 - busyMs
  const program = `for (;;) {
    const end = performance.now() + ${busyMs}
    while (performance.now() < end);
    if (${idleMs} > 0.1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${idleMs})
  }`
  return Array.from({ length: processes }, () => spawn(process.execPath, ['--eval', program], { stdio: 'ignore' }))
}

const text = ({ p50, p99 }: Latency): string => `${p50.toFixed(2)}; ${p99.toFixed(2)} ms`
const ratio = (one: Latency, other: Latency): string =>
  `${(one.p50 / other.p50).toFixed(2)}; ${(one.p99 / other.p99).toFixed(2)}`

/** Prints a measurement beside a node without peers, idle and beside a process that uses as much processor time. */
async function compare(bench: Bench, what: string, measured: Measured, alone: Measured): Promise<void> {
  const node = await start(bench, peers + 1, ['--standalone'])
  await warmUp(node)
  const burning = burn(Math.max(0.01, measured.cpu - alone.cpu))
  const control = await measure(bench, node)
  for (const child of burning) child.kill()
  await stopOne(bench, node)
  const cpu = `${measured.cpu.toFixed(2)} processors`
  report(`${what}: p50; p99`, `${text(measured)}, × alone ${ratio(measured, alone)} (${cpu})`)
  report('  a process that uses as much instead', `${text(control)}, × alone ${ratio(control, alone)}`)
}

async function stopOne({ running }: Bench, node: SiteNode): Promise<void> {
  running.splice(running.indexOf(node), 1)
  await node.stop()
}

/** Publishes five events a second. */
async function publishing(bench: Bench, node: SiteNode): Promise<Latency & { readonly cpuMsPerEvent: number }> {
  await warmUp(node)
  const seconds = Math.ceil(requests / 5)
  const idleBefore = cpuMs(node.pid)
  await sleep(1000 * 10)
  const idle = (cpuMs(node.pid) - idleBefore) / 10
  const before = cpuMs(node.pid)
  const times: number[] = []
  for (let i = 0; i < seconds * 5; i++) {
    const sent = performance.now()
    await request(node, 2 * i)
    times.push(performance.now() - sent)
    await sleep(Math.max(0, 200 - (performance.now() - sent)))
  }
  const used = cpuMs(node.pid) - before - idle * seconds
  report(
    `publishing 5/s with ${bench.running.length - 1} peers: CPU of the node per event`,
    `${(used / times.length).toFixed(2)} ms`,
  )
  return { ...latencyOf(times), cpuMsPerEvent: used / times.length }
}

async function startPeers(bench: Bench): Promise<void> {
  for (let i = 1; i <= peers; i++) await start(bench, i)
  await Promise.all(bench.running.map((node) => untilConnected(node, bench.running.length - 1)))
}

async function incoming(bench: Bench, alone: Measured): Promise<void> {
  const source = await start(bench, 1)
  await publish(source, 0, events, 1000)
  const expected = await count(source)
  const node = await start(bench, 0)
  const began = performance.now()
  const caughtUp = untilCount(node, expected).then(() => performance.now() - began)
  const measured = await measure(bench, node, caughtUp)
  report(
    `catch-up of ${events} events, from the start of the API`,
    `${Math.round(events / ((await caughtUp) / 1000))} events/s`,
  )
  await stopAll(bench)
  await compare(bench, `while ${events} events come in`, measured, alone)
}

async function outgoing(bench: Bench, alone: Measured): Promise<void> {
  const node = await start(bench, 0)
  await warmUp(node)
  const form = new FormData()
  form.set('file', new Blob([randomBytes(megabytes * 1_000_000)]), 'measured.bin')
  const cid = await (await node.send('POST', '/api/v2/files', form)).text()
  const target = await start(bench, 1)
  const arrived = (async () => {
    while (
      (await (await target.request('GET', `/api/v2/files/${cid}`)).arrayBuffer()).byteLength <
      megabytes * 1_000_000
    )
      await sleep(100)
  })()
  const measured = await measure(bench, node, arrived)
  await stopAll(bench)
  await compare(bench, `while ${megabytes} MB go out`, measured, alone)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-swarm-'))
  const site = Site.create(peers + 2)
  const settings = { '/swarm/swarmKey': randomBytes(32).toString('base64') }
  const bench: Bench = { site, folder, packageFolder: await builtPackage(), settings, running: [] }
  try {
    const single = await start(bench, 0)
    const withoutPeers = await publishing(bench, single)
    const alone = await measure(bench, single)
    report('alone: p50; p99', text(alone))
    await startPeers(bench)
    const withPeers = await publishing(bench, single)
    report(`publishing 5/s, with ${peers} peers ÷ without: p50; p99`, ratio(withPeers, withoutPeers))
    const idle = await measure(bench, single)
    const others = site.machines.slice(1, peers + 1)
    site.partition(others)
    while (((await single.json('GET', '/api/v2/node/info')) as { connectedNodes: number }).connectedNodes > 0)
      await sleep(200)
    site.removeFilters()
    const connecting = await measure(bench, single, untilConnected(single, peers))
    await stopAll(bench)
    await compare(bench, `${peers} peers, idle`, idle, alone)
    await compare(bench, `while ${peers} peers connect at once`, connecting, alone)
    await incoming(bench, alone)
    await outgoing(bench, alone)
  } finally {
    await stopAll(bench)
    site.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

enterHub()
await main()
