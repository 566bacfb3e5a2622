import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Site } from '../../scripts/site/site.ts'
import { SiteNode } from '../../scripts/site/site-node.ts'

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export function report(what: string, figure: string): void {
  console.log(`${what.padEnd(64)} ${figure}`)
}

/** The nodes of a measurement, and where they run. */
export interface Bench {
  readonly site: Site
  readonly folder: string
  readonly packageFolder: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly running: SiteNode[]
}

export async function start(bench: Bench, machine: number, options: readonly string[] = []): Promise<SiteNode> {
  const { site, packageFolder, settings } = bench
  const folder = mkdtempSync(join(bench.folder, 'node-'))
  const node = await new SiteNode({ machine: site.machine(machine), folder, packageFolder, settings, options }).start()
  bench.running.push(node)
  return node
}

export async function stopAll({ running }: Bench): Promise<void> {
  await Promise.all(running.splice(0).map((node) => node.stop()))
}

export async function count(node: SiteNode): Promise<number> {
  const { present } = (await node.json('GET', '/api/v2/events/offsets')) as { present: Record<string, number> }
  return Object.values(present).reduce((sum, offset) => sum + offset + 1, 0)
}

export async function untilCount(node: SiteNode, events: number): Promise<void> {
  while ((await count(node)) < events) await sleep(20)
}

export async function untilConnected(node: SiteNode, peers: number): Promise<void> {
  for (;;) {
    const info = (await node.json('GET', '/api/v2/node/info')) as { connectedNodes: number }
    if (info.connectedNodes >= peers) return
    await sleep(100)
  }
}

const payload = (i: number) => ({ type: 'measurement', id: i, value: Math.sin(i) * 100, unit: 'celsius' })
const note = (i: number): string => `temperature at the outlet of stage ${i % 7}`
export const eventOf = (i: number) => ({
  tags: ['bench', `order:${i % 1000}`],
  payload: { ...payload(i), note: note(i) },
})

export async function publish(node: SiteNode, from: number, to: number, batch: number): Promise<number> {
  let bytes = 0
  for (let i = from; i < to; i += batch) {
    const data = Array.from({ length: Math.min(batch, to - i) }, (_, k) => eventOf(i + k))
    bytes += JSON.stringify(data).length
    await node.json('POST', '/api/v2/events/publish', { data })
  }
  return bytes
}
