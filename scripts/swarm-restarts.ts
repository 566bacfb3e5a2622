// `npm run swarm:restarts [-- --nodes 20] [--rounds 10]`: nodes of the built package, found by mDNS, are restarted all
// at once, on machines that are network namespaces (needs root). Every round has to converge within 60 s of the last
// process start, and within 15 s of the last publish when all nodes are connected. Prints the times of each round.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { connectedNodes, eventually, newSwarmKey, offsets } from '../test/site/swarm-of.ts'
import { builtPackage } from './built-package.ts'
import { enterHub } from './site/in-hub.ts'
import { Site } from './site/site.ts'
import { SiteNode } from './site/site-node.ts'

const startedWithinS = 60
const publishedWithinS = 15
/** Rounds that miss the goals are measured to their end. */
const patienceMs = 300_000

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '20' }, rounds: { type: 'string', default: '10' } },
})

const seconds = (since: number): number => Math.round((performance.now() - since) / 100) / 10

/** Waits until all nodes have the same streams, and at least these events. */
async function untilConverged(nodes: readonly SiteNode[], least: ReadonlyMap<string, number>): Promise<void> {
  await eventually(
    async () => {
      const [first, ...others] = (await Promise.all(nodes.map(offsets))).map(({ present }) => present)
      const hasAll = [...least].every(([stream, offset]) => (first?.[stream] ?? -1) >= offset)
      return hasAll && others.every((other) => isDeepStrictEqual(other, first)) ? true : undefined
    },
    () => 'the nodes do not converge',
    patienceMs,
  )
}

async function publishOnAll(nodes: readonly SiteNode[]): Promise<Map<string, number>> {
  const published = await Promise.all(nodes.map((node) => node.publish({ at: node.machine.name })))
  return new Map(published.flat().map(({ stream, offset }) => [stream, offset]))
}

async function round(nodes: readonly SiteNode[]): Promise<{ converged: number; connected: number; published: number }> {
  const starting = nodes.map((node) => node.start())
  const started = performance.now()
  await Promise.all(starting)
  await untilConverged(nodes, await publishOnAll(nodes))
  const converged = seconds(started)
  await eventually(
    async () =>
      (await Promise.all(nodes.map(connectedNodes))).every((count) => count === nodes.length - 1) ? true : undefined,
    () => 'the nodes are not all connected',
    patienceMs,
  )
  const connected = seconds(started)
  const newest = await publishOnAll(nodes)
  const last = performance.now()
  await untilConverged(nodes, newest)
  return { converged, connected, published: seconds(last) }
}

enterHub()
const folder = mkdtempSync(join(tmpdir(), 'shoal-restarts-'))
const site = Site.create(Number(values.nodes))
const nodes: SiteNode[] = []
let misses = 0
try {
  const packageFolder = await builtPackage()
  const settings = { '/swarm/swarmKey': newSwarmKey() }
  for (const machine of site.machines)
    nodes.push(new SiteNode({ machine, folder: join(folder, machine.name), settings, packageFolder }))
  for (let i = 1; i <= Number(values.rounds); i++) {
    const times = await round(nodes)
    const isMet = times.converged <= startedWithinS && times.published <= publishedWithinS
    if (!isMet) misses++
    const { converged, connected, published } = times
    console.log(
      `round ${i}: converged ${converged} s after the last start, all connected after ${connected} s, ` +
        `converged ${published} s after the last publish${isMet ? '' : ': MISSED'}`,
    )
    await Promise.all(nodes.map((node) => node.stop()))
  }
  console.log(
    misses === 0 ? 'all rounds are within the goals' : `${misses} of ${values.rounds} rounds missed the goals`,
  )
} finally {
  await Promise.all(nodes.map((node) => node.kill()))
  site.remove()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = misses === 0 ? 0 : 1
