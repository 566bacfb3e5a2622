import type { Random } from '../../crash/random.ts'
import type { SimNode } from '../sim-node.ts'
import type { Swarm } from '../swarm.ts'
import type { Fault } from './fault.ts'

/** Not faults of the swarm, but decisions of nodes that other nodes have to follow. */
export const removalFaults: readonly Fault[] = [
  { name: 'redactions', share: 0.4, plan: (swarm, random) => plan(swarm, random, redact) },
  { name: 'prunes', share: 0.3, plan: (swarm, random) => plan(swarm, random, prune) },
]

function plan(swarm: Swarm, random: Random, remove: (node: SimNode, random: Random) => Promise<void>): void {
  const count = 1 + random.below(5)
  for (let i = 0; i < count; i++)
    swarm.sometime(random, () => swarm.start(remove(random.chance(0.5) ? firstOf(swarm) : swarm.any(random), random)))
}

/** The node that may have a long stream. */
function firstOf({ nodes }: Swarm): SimNode {
  return nodes[0] as SimNode
}

async function redact(node: SimNode, random: Random): Promise<void> {
  const own = (await node.store.streams()).find((stream) => stream.own && stream.key.number === 0)
  if (own === undefined || own.count === own.pruned) return
  const count = 1 + random.below(5)
  const offsets = Array.from({ length: count }, () => own.pruned + random.below(own.count - own.pruned))
  await node.redact(0, [...new Set(offsets)])
}

async function prune(node: SimNode, random: Random): Promise<void> {
  const own = (await node.store.streams()).find((stream) => stream.own && stream.key.number === 0)
  if (own === undefined || own.count === own.pruned) return
  const [chunks, frames] = [
    await node.store.chunkSizes(own.number),
    await node.store.framesOfChunk(own.number, own.pruned),
  ]
  const borders = [...chunks.filter(({ complete }) => complete), ...frames].map(({ end }) => end)
  const border = borders[random.below(borders.length)]
  if (border !== undefined) await node.prune(0, border)
}
