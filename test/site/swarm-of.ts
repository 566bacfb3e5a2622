import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type Machine, Site } from '../../scripts/site/site.ts'
import { SiteNode, type SiteNodeOptions } from '../../scripts/site/site-node.ts'
import { parseNodeId, peerIdOf, publicKeyOf } from '../../src/identity/index.ts'
import { temporaryFolder } from '../support/folder.ts'

/** Machines that are removed after the test, with nodes that are stopped before. */
export class TestSite {
  readonly site: Site
  readonly #t: TestContext
  readonly #folder: string
  readonly #nodes: SiteNode[] = []
  #count = 0
  #hasFailed = false

  constructor(t: TestContext, machines: number) {
    this.#t = t
    this.#folder = temporaryFolder(t)
    this.site = Site.create(machines)
    t.after(async () => {
      for (const node of this.#nodes) node.signal('SIGCONT')
      await Promise.all(this.#nodes.map((node) => node.kill()))
      this.site.remove()
      // What the nodes have logged explains a failure. The types do not have `passed` yet.
      if (this.#hasFailed || !(t as TestContext & { readonly passed: boolean }).passed)
        for (const { machine, log } of this.#nodes) t.diagnostic(`${machine.name}:\n${log}`)
    })
  }

  /** A part of the test that is reported by its name. The next ones run on the same nodes. */
  async part(name: string, work: () => Promise<void>): Promise<void> {
    await this.#t.test(name, async () => {
      try {
        await work()
      } catch (error) {
        this.#hasFailed = true
        throw error
      }
    })
  }

  /** A node on a machine, not started yet. */
  node(machine: number | Machine, options: Partial<SiteNodeOptions> = {}): SiteNode {
    const on = typeof machine === 'number' ? this.site.machine(machine) : machine
    const folder = join(this.#folder, String(this.#count++))
    const node = new SiteNode({ machine: on, folder, ...options })
    this.#nodes.push(node)
    return node
  }
}

/** Settings of a swarm of its own, whose nodes find each other by `initialPeers` only. */
export function ownSwarm(initialPeers: readonly string[] = [], swarmKey = newSwarmKey()): Record<string, unknown> {
  return { '/swarm/swarmKey': swarmKey, '/swarm/mdns': false, '/swarm/initialPeers': initialPeers }
}

export function newSwarmKey(): string {
  return randomBytes(32).toString('base64')
}

/** The address of a node that has run, for `initialPeers`. */
export function addressOf({ id, machine }: SiteNode, family: 'v4' | 'v6' = 'v4'): string {
  const host = family === 'v4' ? `/ip4/${machine.v4}` : `/ip6/${machine.v6}`
  return `${host}/tcp/4001/p2p/${peerIdOf(publicKeyOf(parseNodeId(id)))}`
}

/** The text of the metrics of a node. */
export async function metrics({ url }: SiteNode): Promise<string> {
  return await (await fetch(`${url}/metrics`)).text()
}

export interface Offsets {
  /** The newest offset by stream. */
  readonly present: Readonly<Record<string, number>>
  /** The number of events that are known and missing, by stream. */
  readonly toReplicate: Readonly<Record<string, number>>
}

export async function offsets(node: SiteNode): Promise<Offsets> {
  return (await node.json('GET', '/api/v2/events/offsets')) as Offsets
}

export async function connectedNodes(node: SiteNode): Promise<number> {
  return ((await node.json('GET', '/api/v2/node/info')) as { connectedNodes: number }).connectedNodes
}

/** Polls with pauses that leave the processors to the nodes; fails with `why` after a minute, or the given time. */
export async function eventually<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  why: () => string,
  patienceMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const found = await probe()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(why())
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Waits until a node is connected to `count` others. */
export async function untilConnected(node: SiteNode, count: number, patienceMs?: number): Promise<void> {
  let last: unknown
  await eventually(
    async () => {
      last = await connectedNodes(node)
      return last === count ? true : undefined
    },
    () => `${node.machine.name} is connected to ${last} nodes instead of ${count}`,
    patienceMs,
  )
}

/** Waits until a node is ready for other nodes. */
export async function untilReady({ url, machine }: SiteNode): Promise<void> {
  await eventually(
    async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined),
    () => `${machine.name} is not ready`,
  )
}

/** Waits until the log of a node has a text. */
export async function untilLogged(node: SiteNode, text: RegExp): Promise<void> {
  await eventually(
    () => (text.test(node.log) ? true : undefined),
    () => `no ${text} in the log of ${node.machine.name}`,
  )
}

/** The payloads of the events of all test apps on a node, in order. */
export async function payloads(node: SiteNode): Promise<readonly unknown[]> {
  return (await node.query(`FROM 'site'`)).map(({ payload }) => payload)
}

/** Waits until all nodes have the same streams, and a query for all events gives the same `count` events on all. */
export async function untilSame(nodes: readonly SiteNode[], count: number, patienceMs?: number): Promise<void> {
  let counts: readonly unknown[] = []
  await eventually(
    async () => {
      // A query for all events is expensive, so it waits for the streams.
      const streams = (await Promise.all(nodes.map(offsets))).map(({ present }) => present)
      counts = streams.map((present) => Object.values(present).reduce((sum, offset) => sum + offset + 1, 0))
      if (streams.some((present) => !isDeepStrictEqual(present, streams[0]))) return undefined
      const all = await Promise.all(nodes.map(payloads))
      counts = all.map(({ length }) => length)
      const [first, ...others] = all.map((list) => JSON.stringify(list))
      return counts[0] === count && others.every((other) => other === first) ? true : undefined
    },
    () => `${counts.join(', ')} instead of ${count} events`,
    patienceMs,
  )
}
