import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { hostileFaults } from '../faults/hostile.ts'
import { faultsOf } from '../faults/index.ts'
import type { Swarm } from '../swarm.ts'
import type { WholeNode } from '../whole-node.ts'

/** With these the answer of a peer may come late, or never. */
const excuses: ReadonlySet<string> = new Set([
  'loss',
  'reordering',
  'corruption',
  'delay',
  'slow-links',
  'slow-disks',
  'stalls',
  ...hostileFaults.map(({ name }) => name),
])
/** Most nodes are connected later than this after their restart, and no comparison has ended sooner. */
const leastMs = 50
/** Within this time a connected peer has told what it has, and has sent it. */
const toldMs = 3000
/**
 * When a node that has lost own events is sure of its own streams, no peer that is connected for long has more of them.
 * If that is soon, then because of a peer that is connected.
 */
export function checkDoubtfulStarts(swarm: Swarm): void {
  const isExcused = faultsOf(swarm.scenario).some((name) => excuses.has(name))
  swarm.onSettled = (node, ms) => {
    if (!swarm.inDoubt.delete(node)) return
    if (ms < leastMs && !isConnected(swarm, node))
      swarm.agenda.fail(new Error(`${node.label} is sure of its own streams before it is connected`))
    if (!isExcused) swarm.start(check(swarm, node, ms))
  }
}

function isConnected({ nodes, network }: Swarm, node: WholeNode): boolean {
  return nodes.some((other) => other !== node && network.connectedMs(node.name, other.name) > 0)
}

async function check({ nodes, network }: Swarm, node: WholeNode, ms: number): Promise<void> {
  const own = new Map((await node.store.heads()).filter((row) => row.own).map((row) => [row.key.number, row]))
  let hasAsked = ms >= limits.ownPeerMs
  for (const other of nodes) {
    const connectedMs = other === node ? 0 : network.connectedMs(node.name, other.name)
    if (connectedMs === 0) continue
    const ahead = (await other.store.heads()).filter(({ key, count, frozen }) => {
      const row = own.get(key.number)
      const isLeft = frozen || row?.frozen === true || node.abandoned.includes(key.number)
      return Buffer.from(key.node).toString('latin1') === node.name && !isLeft && count > (row?.count ?? 0)
    })
    if (ahead.length === 0) hasAsked = true
    assert.ok(connectedMs < toldMs || ahead.length === 0, `${node.label} is sure, but ${other.label} has more of it`)
  }
  assert.ok(hasAsked, `${node.label} is sure of its own streams after ${ms} ms, and has asked no peer`)
}
