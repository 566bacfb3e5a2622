import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { SiteNode } from '../../../scripts/site/site-node.ts'
import { nodeIdOf, type PublicKey } from '../../../src/identity/index.ts'
import { fullHead, heads } from '../../../src/protocol/index.ts'
import type { Message } from '../../../src/sync/index.ts'
import { eventually, metrics } from '../swarm-of.ts'
import { WirePeer, wireTopic } from '../wire-peer.ts'

type HeadEntry = Extract<Message, { is: 'heads' }>['entries'][number]

/** What a peer knows of the events of honest nodes. */
export interface Captured {
  readonly heads: readonly HeadEntry[]
  readonly chunks: readonly Uint8Array[]
}

/** The node that is attacked, with what its attackers have learned. */
export interface Victim {
  readonly t: TestContext
  readonly node: SiteNode
  readonly captured: Captured
}

/** An attack, which checks how it ends. */
export type Attack = (victim: Victim) => Promise<void>

/** Learns the streams of other nodes that a node has, and the first chunk of each, as every node of the swarm may. */
export async function capture(t: TestContext, node: SiteNode): Promise<Captured> {
  const peer = await WirePeer.greet(t, node)
  // Digests that differ everywhere are answered with all heads.
  peer.send({ is: 'buckets', digests: Buffer.alloc(256 * 8, 1) })
  const { entries } = await peer.next('heads', (message) => message.entries.length > 0)
  const captured = { heads: [] as HeadEntry[], chunks: [] as Uint8Array[] }
  for (const [index, entry] of entries.entries()) {
    assert.ok(!entry.isFrozen)
    const { stream } = heads.decode(fullHead(entry.head, wireTopic))
    // Chunks of its own streams are refused without a look at them.
    if (nodeIdOf(stream.node as PublicKey) === node.id) continue
    captured.heads.push(entry)
    peer.send({ is: 'want', id: index + 1, stream, from: 0, bytes: 2 ** 20 })
    captured.chunks.push((await peer.next('chunk', ({ id }) => id === index + 1)).chunk)
  }
  await peer.stop()
  return captured
}

/** The longest of the time-outs that `assertDropped` waits for is that of the hello, with 10 s. */
const patienceMs = 30_000

/** The victim closes the session, and names the peer and its reason in the log and in the metrics. */
export async function assertDropped({ node }: Victim, nodeId: string, reason: RegExp): Promise<void> {
  const line = () => node.log.split('\n').find((text) => text.includes(`disconnected from ${nodeId}`))
  const found = await eventually(line, () => `${nodeId} is not dropped`, patienceMs)
  assert.match(found, reason)
  await eventually(
    async () => {
      const counted = (await metrics(node)).match(/^shoal_swarm_closed_total\{.*/gm) ?? []
      return counted.some((text) => reason.test(text)) ? true : undefined
    },
    () => `${reason} is not counted`,
    patienceMs,
  )
}

/** The victim keeps a peer out that it has dropped, and counts it by its reason. */
export async function assertKeptOut({ node }: Victim, nodeId: string, reason: string): Promise<void> {
  assert.match(node.log, new RegExp(`keeping ${nodeId.replaceAll('.', '\\.')} out for [0-9]+ s: ${reason}`))
  await eventually(
    async () =>
      new RegExp(`^shoal_swarm_kept_out_total\\{.*reason="${reason}".*\\} [1-9]`, 'm').test(await metrics(node))
        ? true
        : undefined,
    () => `no peer is kept out for ${reason}`,
    patienceMs,
  )
}

/** The victim answers, so that everything before was processed. */
export async function assertStaysConnected(peer: WirePeer, id = 77): Promise<void> {
  peer.send({ is: 'ping', id })
  await peer.next('pong', (pong) => pong.id === id)
}
