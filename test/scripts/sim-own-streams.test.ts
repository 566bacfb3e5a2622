import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completed } from '../../scripts/sim/checks/agreement.ts'
import { scenarioOf } from '../../scripts/sim/scenario.ts'
import { Swarm } from '../../scripts/sim/swarm.ts'
import type { WholeNode } from '../../scripts/sim/whole-node.ts'
import { limits } from '../../src/base/limits.ts'

const longMs = 20_000

/** Publishes, and lets the virtual time advance meanwhile. */
async function publish(swarm: Swarm, node: WholeNode, stream: 'default' | 'app', payload: string): Promise<void> {
  assert.equal(await completed(swarm, node.publishTo(stream, [payload])), true)
}

/** Two nodes, of which the first has lost what it has published last, and is sure of its own streams too early. */
async function behindItself(run: (swarm: Swarm, node: WholeNode, peer: WholeNode) => Promise<void>): Promise<void> {
  const given = { nodes: 2, shape: 'line', store: 'memory', faults: false, clients: false, publishes: 0 } as const
  const swarm = new Swarm(scenarioOf('own streams', given), false)
  const [node, peer] = swarm.nodes as [WholeNode, WholeNode]
  const { agenda, network } = swarm
  try {
    swarm.connect()
    await agenda.runUntil(longMs)
    node.disk.copy()
    for (const stream of ['default', 'app'] as const) await publish(swarm, node, stream, '1')
    await agenda.runUntil(2 * longMs)
    assert.deepEqual(await node.headTexts(), await peer.headTexts())
    swarm.forgotten(node)
    network.partition(() => false)
    await completed(swarm, swarm.restore(node, { isCleanStop: false }))
    await agenda.runUntil(agenda.nowMs + limits.ownPeerMs)
    network.partition(() => true)
    await run(swarm, node, peer)
  } finally {
    await swarm.close()
  }
}

test('a node that was sure of its own streams too early adopts what a peer has of them, also whole streams', () =>
  behindItself(async (swarm, node, peer) => {
    const { agenda } = swarm
    assert.notDeepEqual(await node.headTexts(), await peer.headTexts())
    await agenda.runUntil(agenda.nowMs + longMs)
    assert.deepEqual(await node.headTexts(), await peer.headTexts())
    for (const stream of ['default', 'app'] as const) await publish(swarm, node, stream, '3')
    await agenda.runUntil(agenda.nowMs + longMs)
    const heads = await peer.headTexts()
    assert.deepEqual(await node.headTexts(), heads)
    assert.ok(
      heads.every((head) => !head.endsWith('frozen')),
      'no stream was forked',
    )
  }))

test('a node that has published before it could know that it is behind has forked the stream, and moves on', () =>
  behindItself(async (swarm, node, peer) => {
    const { agenda } = swarm
    await publish(swarm, node, 'app', '3')
    await agenda.runUntil(agenda.nowMs + longMs)
    await publish(swarm, node, 'app', '4')
    await agenda.runUntil(agenda.nowMs + longMs)
    const heads = await peer.headTexts()
    assert.deepEqual(await node.headTexts(), heads)
    assert.ok(heads.includes(`${node.streamId(1)} frozen`))
  }))
