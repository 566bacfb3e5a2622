import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Machine, Site } from '../../scripts/site/site.ts'
import { SiteNode, type SiteNodeOptions } from '../../scripts/site/site-node.ts'
import { parseNodeId, peerIdOf, publicKeyOf } from '../../src/identity/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'

/** Machines that are removed after the test, with nodes that are stopped before. */
export class TestSite {
  readonly site: Site
  readonly #folder: string
  readonly #nodes: SiteNode[] = []
  #count = 0

  constructor(t: TestContext, machines: number) {
    this.#folder = temporaryFolder(t)
    this.site = Site.create(machines)
    t.after(async () => {
      for (const node of this.#nodes) node.signal('SIGCONT')
      await Promise.all(this.#nodes.map((node) => node.kill()))
      this.site.remove()
      // What the nodes have logged explains a failure. The types do not have `passed` yet.
      if (!(t as TestContext & { readonly passed: boolean }).passed)
        for (const { machine, log } of this.#nodes) t.diagnostic(`${machine.name}:\n${log}`)
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

export async function connectedNodes(node: SiteNode): Promise<number> {
  return ((await node.json('GET', '/api/v2/node/info')) as { connectedNodes: number }).connectedNodes
}

/** Waits until a node is connected to `count` others. */
export async function untilConnected(node: SiteNode, count: number): Promise<void> {
  let last: unknown
  await until(
    async () => {
      last = await connectedNodes(node)
      return last === count ? true : undefined
    },
    () => `${node.machine.name} is connected to ${last} nodes instead of ${count}:\n${node.log}`,
  )
}

/** The payloads of the events of all test apps on a node, in order. */
export async function payloads(node: SiteNode): Promise<readonly unknown[]> {
  return (await node.query(`FROM 'site'`)).map(({ payload }) => payload)
}

/** Waits until a query for all events gives the same `count` events on all nodes. */
export async function untilSame(nodes: readonly SiteNode[], count: number): Promise<void> {
  let counts: readonly unknown[] = []
  await until(
    async () => {
      const all = await Promise.all(nodes.map(payloads))
      counts = all.map(({ length }) => length)
      const [first, ...others] = all.map((list) => JSON.stringify(list))
      return counts[0] === count && others.every((other) => other === first) ? true : undefined
    },
    () => `${counts.join(', ')} instead of ${count} events:\n${nodes.map(({ log }) => log).join('\n\n')}`,
  )
}
