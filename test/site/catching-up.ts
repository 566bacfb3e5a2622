import type { SiteNode } from '../../scripts/site/site-node.ts'
import { eventually, offsets, untilSame } from './swarm-of.ts'

const perRequest = 1000

/** Publishes many events; `count` is a multiple of 1000. */
export async function publishMany(node: SiteNode, count: number, text = () => 'x'.repeat(200)): Promise<void> {
  for (let first = 0; first < count; first += perRequest)
    await node.publish(...Array.from({ length: perRequest }, (_, i) => ({ i: first + i, text: text() })))
}

/** The stream with the most events, and its newest offset. */
export async function longestStream(node: SiteNode): Promise<readonly [stream: string, newest: number]> {
  const [longest] = Object.entries((await offsets(node)).present).sort(([, a], [, b]) => b - a)
  if (longest === undefined) throw new Error('the node has no events')
  return longest
}

/** Kills a stopped node again and again while it catches up with another one; in the end it has all `count` events. */
export async function killWhileCatchingUp(
  node: SiteNode,
  other: SiteNode,
  { kills, count }: { readonly kills: number; readonly count: number },
): Promise<void> {
  const [stream, newest] = await longestStream(other)
  let before = -1
  for (let kill = 0; kill < kills; kill++) {
    await node.start()
    before = await eventually(
      async () => {
        const now = (await offsets(node)).present[stream] ?? -1
        return now > before ? now : undefined
      },
      () => `nothing arrives after ${kill} kills`,
    )
    await node.kill()
    // The last kills would find nothing to interrupt.
    if (before === newest && kill < kills - 1)
      throw new Error(`all ${newest + 1} events were there after ${kill} kills`)
  }
  await node.start()
  await untilSame([other, node], count)
}
