import type { TestContext } from 'node:test'
import type { SiteNode } from '../../scripts/site/site-node.ts'
import type { Channel } from '../../src/swarm/host/index.ts'
import { eventually } from './swarm-of.ts'
import { WirePeer } from './wire-peer.ts'

/** A message of a recorded conversation: of the node whose events were fetched, or of the one that fetched them. */
export interface Recorded {
  readonly from: 'source' | 'reader'
  readonly channel: Channel
  readonly hex: string
}

/** The first byte of requests, whose answers have to come after them: want, want-records. */
const requestKinds: ReadonlySet<number> = new Set([6, 10])

/** Passes all messages between two nodes on, and records them until `done` resolves. */
export async function record(
  t: TestContext,
  source: SiteNode,
  reader: SiteNode,
  done: () => Promise<void>,
): Promise<readonly Recorded[]> {
  const conversation: Recorded[] = []
  const [atSource, atReader] = [await WirePeer.connect(t, source), await WirePeer.connect(t, reader)]
  const passed = { source: 0, reader: 0 }
  const pass = (from: 'source' | 'reader', [peer, other]: readonly [WirePeer, WirePeer]): void => {
    for (const { channel, bytes } of peer.frames.slice(passed[from])) {
      passed[from]++
      conversation.push({ from, channel, hex: bytes.toString('hex') })
      other.sendBytes(channel, bytes)
    }
  }
  const timer = setInterval(() => {
    pass('source', [atSource, atReader])
    pass('reader', [atReader, atSource])
  }, 1)
  try {
    await done()
  } finally {
    clearInterval(timer)
  }
  await Promise.all([atSource.stop(), atReader.stop()])
  return conversation
}

/** Sends what the source has said to another node, each answer when the node has asked as often as the reader had. */
export async function replay(t: TestContext, node: SiteNode, conversation: readonly Recorded[]): Promise<WirePeer> {
  const peer = await WirePeer.connect(t, node)
  let requests = 0
  for (const { from, channel, hex } of conversation) {
    const bytes = Buffer.from(hex, 'hex')
    if (from === 'source') peer.sendBytes(channel, bytes)
    else if (channel !== 'blocks' && requestKinds.has(bytes[0] ?? 0)) {
      requests++
      await eventually(
        () => (peer.all('want').length + peer.all('want-records').length >= requests ? true : undefined),
        () => `the node has not made ${requests} requests`,
      )
    }
  }
  return peer
}
