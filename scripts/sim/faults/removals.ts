import type { StreamStatus } from '../../../src/store/port/index.ts'
import type { Random } from '../../crash/random.ts'
import type { Swarm } from '../swarm.ts'
import { appStream, type WholeNode } from '../whole-node.ts'
import type { Fault } from './fault.ts'

/** The shortest age that settings allow. */
const leastAgeMs = 10_000
/** After this time the last events are twice as old as they may get: publishing may have waited, too. */
const calmMs = 40_000

/** Not faults of the swarm, but decisions of nodes that other nodes have to follow. */
export const removalFaults: readonly Fault[] = [
  { name: 'redactions', share: 0.4, plan: (swarm, random) => plan(swarm, random, redact) },
  { name: 'prunes', share: 0.3, plan: (swarm, random) => plan(swarm, random, prune) },
  { name: 'retention', share: 0.3, plan: limitAges },
  { name: 'forgotten-streams', share: 0.15, plan: forgetStreams },
]

/** Operators limit the age of events, some of them after names and files were published. */
function limitAges(swarm: Swarm, random: Random): void {
  for (const node of swarm.nodes)
    if (random.chance(0.5)) swarm.sometime(random, () => node.retention.limit(leastAgeMs + 1000 * random.below(3)))
  swarm.restlessUntil = swarm.scenario.publishMs + calmMs
}

function plan(swarm: Swarm, random: Random, remove: (node: WholeNode, random: Random) => Promise<void>): void {
  const count = 1 + random.below(5)
  for (let i = 0; i < count; i++)
    swarm.sometime(random, () => swarm.start(remove(random.chance(0.5) ? firstOf(swarm) : swarm.any(random), random)))
}

/** Operators remove streams of other nodes, which are fetched again. */
function forgetStreams(swarm: Swarm, random: Random): void {
  const count = 1 + random.below(3)
  for (let i = 0; i < count; i++) swarm.sometime(random, () => swarm.start(forgetOne(swarm, random)))
}

async function forgetOne(swarm: Swarm, random: Random): Promise<void> {
  const node = swarm.any(random)
  const remaining: ReadonlySet<string> = new Set(swarm.nodes.map(({ name }) => name))
  const isKept = ({ key }: StreamStatus): boolean => remaining.has(Buffer.from(key.node).toString('latin1'))
  const others = (await node.store.streams()).filter((stream) => !stream.own && isKept(stream))
  const stream = others[random.below(Math.max(1, others.length))]
  if (stream !== undefined) await swarm.forget(node, stream.key)
}

/** The node that may have a long stream. */
function firstOf({ nodes }: Swarm): WholeNode {
  return nodes[0] as WholeNode
}

async function redact(node: WholeNode, random: Random): Promise<void> {
  const own = (await node.store.streams()).find((stream) => stream.own && stream.key.number === appStream.number)
  if (own === undefined || own.count === own.pruned) return
  const count = 1 + random.below(5)
  const offsets = Array.from({ length: count }, () => own.pruned + random.below(own.count - own.pruned))
  await node.redact(appStream.number, [...new Set(offsets)])
}

async function prune(node: WholeNode, random: Random): Promise<void> {
  const own = (await node.store.streams()).find((stream) => stream.own && stream.key.number === appStream.number)
  if (own === undefined || own.count === own.pruned) return
  const [chunks, frames] = [
    await node.store.chunkSizes(own.number),
    await node.store.framesOfChunk(own.number, own.pruned),
  ]
  const borders = [...chunks.filter(({ complete }) => complete), ...frames].map(({ end }) => end)
  const border = borders[random.below(borders.length)]
  if (border !== undefined) await node.prune(appStream.number, border)
}
