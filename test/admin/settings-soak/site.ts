import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { multiaddressText } from '../../../src/listening/listen.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startNode, type TestNode } from '../../support/node.ts'
import { untilConnected } from './checks.ts'

/** A node and its peer, which are connected. */
export interface Site {
  readonly node: TestNode
  readonly peer: TestNode
  /** A secret of the test, so that nobody else is found by multicast DNS. */
  readonly swarmKey: string
  readonly peerAddress: string
}

export async function connectedNodes(t: TestContext): Promise<Site> {
  const start = () => startNode(t, temporaryFolder(t), { replicates: true })
  const [node, peer] = await Promise.all([start(), start()])
  const swarmKey = newSwarmKey()
  for (const [one, other] of [
    [node, peer],
    [peer, node],
  ] as const)
    await one.node.settings.merge(['swarm'], { swarmKey, initialPeers: [addressOf(other)] }, 'test')
  for (const one of [node, peer]) await untilConnected(one)
  return { node, peer, swarmKey, peerAddress: addressOf(peer) }
}

export function newSwarmKey(): string {
  return randomBytes(32).toString('base64')
}

/** For `initialPeers`. */
function addressOf({ node }: TestNode): string {
  const [at] = node.addresses.swarm
  assert.ok(at)
  return `${multiaddressText(at)}/p2p/${node.peerId}`
}
