import { tuning } from '../../src/base/tuning.ts'
import type { Random } from '../crash/random.ts'
import type { Swarm } from './swarm.ts'
import type { WholeNode } from './whole-node.ts'

/** The share of swarms with nodes that publish in bulk. */
const share = 0.15
const mostBatches = 6
/** Longest time between two batches: often the one before is still on its way. */
const pauseMs = 300
const eventsPerBatch = 40

/** An app that publishes batches that are too large for a `push`, one after the other. */
export function planBulk(swarm: Swarm): void {
  const random = swarm.random('bulk')
  if (!random.chance(share)) return
  const bursts = 1 + random.below(2)
  for (let i = 0; i < bursts; i++) {
    const choices = swarm.random(`bulk ${i}`)
    swarm.sometime(random, () => {
      publishAfter(swarm, swarm.any(choices), `bulk ${i}`, choices, 1 + choices.below(mostBatches))
    })
  }
}

function publishAfter(swarm: Swarm, node: WholeNode, id: string, random: Random, batches: number): void {
  if (batches === 0 || !swarm.nodes.includes(node)) return
  const bytes = Math.ceil(batchBytes(random) / eventsPerBatch)
  const payloads = Array.from({ length: eventsPerBatch }, (_, j) =>
    JSON.stringify({ id: `${id}.${batches}.${j}`, text: textOf(bytes, random) }),
  )
  swarm.start(node.publishTo('app', payloads))
  swarm.agenda.after(random.next() * pauseMs, () => publishAfter(swarm, node, id, random, batches - 1))
}

/** Some batches are too large for a `bulk-push`, too: only their head is sent. */
function batchBytes(random: Random): number {
  if (random.chance(0.05)) return 1.1 * tuning.bulkPushBytes
  return tuning.pushBytes * (random.chance(0.2) ? 0.1 : 1 + 4 * random.next())
}

/** Half of it cannot be compressed well. */
function textOf(bytes: number, random: Random): string {
  const noise = Array.from({ length: 16 }, () => random.next().toString(36).slice(2)).join('')
  return random.chance(0.5) ? 'x'.repeat(bytes) : noise.repeat(Math.ceil(bytes / noise.length)).slice(0, bytes)
}
