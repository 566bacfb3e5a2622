import { type BlockKey, type BlockPeer, secondSourceAt } from './block-peer.ts'

/** Added to the open requests of a peer that does not say that it has a block, and of one that did not answer lately. */
const unknownCost = 1000
const doubtfulCost = 10_000

/**
 * The peer to ask for a block: one that answers, then one that says that it has the block, then the one with the fewest
 * open requests.
 * @param random a random number from 0 to before 1: spreads requests over peers with the same load
 */
export function bestSource(
  free: Iterable<BlockPeer>,
  key: BlockKey,
  now: number,
  random: () => number,
): BlockPeer | undefined {
  let best: BlockPeer | undefined
  let bestCost = Number.POSITIVE_INFINITY
  for (const peer of free) {
    if (!peer.mayHave(key, now)) continue
    const doubt = isDoubtful(peer, now) ? doubtfulCost : 0
    const cost = doubt + (peer.has.has(key) ? 0 : unknownCost) + peer.open.size + random()
    if (cost < bestCost) [best, bestCost] = [peer, cost]
  }
  return best
}

/** Whether a peer has not answered in time, or lets a request wait for long. */
export function isDoubtful(peer: BlockPeer, now: number): boolean {
  if (peer.pauseMs > 0) return true
  // The first one is the oldest.
  const [oldest] = peer.open.values()
  return oldest !== undefined && secondSourceAt(peer, oldest) <= now
}
