// `npm run swarm:soak [-- --minutes 60]`: three nodes on machines of their own (network namespaces, needs root) publish
// events and upload files all the time. Prints their resident memory, and fails if it grows after the first quarter.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { upload } from '../test/site/files.ts'
import { newSwarmKey, untilConnected, untilSame } from '../test/site/swarm-of.ts'
import { enterHub } from './site/in-hub.ts'
import { Site } from './site/site.ts'
import { SiteNode } from './site/site-node.ts'

/** What the middle of the last quarter may be above that of the second one: the garbage of a thread. */
const mostGrowthMb = 32
const eventsPerRequest = 10
const requestEveryMs = 200
const uploadEveryMs = 10_000
const sampleEveryMs = 2000

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })

class Load {
  readonly #node: SiteNode
  #isStopped = false
  readonly #done: Promise<void>
  events = 0
  uploads = 0

  constructor(node: SiteNode) {
    this.#node = node
    this.#done = Promise.all([this.#publish(), this.#upload()]).then(() => {})
    // The failure is thrown by `stop`.
    this.#done.catch(() => {})
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  async #publish(): Promise<void> {
    while (!this.#isStopped) {
      const text = randomBytes(75).toString('base64')
      await this.#node.publish(...Array.from({ length: eventsPerRequest }, (_, i) => ({ i, text })))
      this.events += eventsPerRequest
      await sleep(requestEveryMs)
    }
  }

  async #upload(): Promise<void> {
    while (!this.#isStopped) {
      await upload(this.#node, { 'content.bin': randomBytes(300_000) })
      this.uploads++
      for (let waited = 0; waited < uploadEveryMs && !this.#isStopped; waited += requestEveryMs)
        await sleep(requestEveryMs)
    }
  }
}

function memoryMb({ pid }: SiteNode): number {
  const [, kB] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kB) / 1024)
}

/** The middle of a quarter of the samples. */
function quarter(samples: readonly number[], index: number): number {
  const part = samples.slice((index * samples.length) / 4, ((index + 1) * samples.length) / 4).sort((a, b) => a - b)
  return part[part.length >> 1] ?? 0
}

async function soak(nodes: readonly SiteNode[], minutes: number): Promise<boolean> {
  for (const node of nodes) await node.start()
  for (const node of nodes) await untilConnected(node, nodes.length - 1)
  const loads = nodes.map((node) => new Load(node))
  const samples = nodes.map((): number[] => [])
  const end = performance.now() + minutes * 60_000
  for (let i = 0; performance.now() < end; i++) {
    for (const [index, node] of nodes.entries()) samples[index]?.push(memoryMb(node))
    if (i % 30 === 0) console.log(`${Math.round((i * sampleEveryMs) / 1000)} s: ${nodes.map(memoryMb).join(', ')} MB`)
    await sleep(sampleEveryMs)
  }
  for (const load of loads) await load.stop()
  const events = loads.reduce((sum, load) => sum + load.events, 0)
  const start = performance.now()
  await untilSame(nodes, events)
  const uploads = loads.reduce((sum, load) => sum + load.uploads, 0)
  console.log(
    `${events} events and ${uploads} uploads; the same ${Math.round(performance.now() - start)} ms after the end`,
  )
  const growths = samples.map((list) => quarter(list, 3) - quarter(list, 1))
  for (const [index, list] of samples.entries())
    console.log(`node ${index + 1}: ${[0, 1, 2, 3].map((at) => quarter(list, at)).join(', ')} MB in the quarters`)
  return growths.every((growth) => growth <= mostGrowthMb)
}

enterHub()
const folder = mkdtempSync(join(tmpdir(), 'shoal-soak-'))
const site = Site.create(3)
const settings = { '/swarm/swarmKey': newSwarmKey() }
const nodes = site.machines.map((machine) => new SiteNode({ machine, folder: join(folder, machine.name), settings }))
try {
  const isFlat = await soak(nodes, Number(values.minutes))
  console.log(isFlat ? 'memory is flat' : `memory grew by more than ${mostGrowthMb} MB`)
  process.exitCode = isFlat ? 0 : 1
} finally {
  await Promise.all(nodes.map((node) => node.kill()))
  site.remove()
  rmSync(folder, { recursive: true, force: true })
}
