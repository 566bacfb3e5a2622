import { nodeIdOf } from '../../../src/identity/index.ts'
import { blockFloods, silentBlocks, wrongBlocks } from '../hostile/blocks.ts'
import { alteredChunks, forgedChunks, overlappingChunks, strippedPayloads, wrongChunks } from '../hostile/chunks.ts'
import { falseEvidence } from '../hostile/evidence.ts'
import { falseFacts } from '../hostile/facts.ts'
import { type Behaviour, HostileNode } from '../hostile/hostile-node.ts'
import { invalidChunks } from '../hostile/invalid.ts'
import { endlessRequests, garbage, mute, replays, silence, unknownFeatures } from '../hostile/messages.ts'
import { endlessRecords } from '../hostile/records.ts'
import { absurdCounts, endlessStream, equivocation, farLamports, manyStreams } from '../hostile/streams.ts'
import type { Fault } from './fault.ts'

const behaviours: Readonly<Record<string, () => Behaviour>> = {
  'altered-chunks': () => alteredChunks,
  'forged-chunks': () => forgedChunks,
  'invalid-chunks': () => invalidChunks,
  'stripped-payloads': () => strippedPayloads,
  'wrong-chunks': () => wrongChunks,
  'overlapping-chunks': overlappingChunks,
  equivocation,
  'far-lamports': () => farLamports,
  'absurd-counts': () => absurdCounts,
  'endless-stream': () => endlessStream,
  'many-streams': manyStreams,
  replays: () => replays,
  mute: () => mute,
  silence: () => silence,
  'unknown-features': () => unknownFeatures,
  'endless-requests': () => endlessRequests,
  garbage: () => garbage,
  'endless-records': endlessRecords,
  'false-evidence': () => falseEvidence,
  'false-facts': () => falseFacts,
  'wrong-blocks': () => wrongBlocks,
  'silent-blocks': () => silentBlocks,
  'block-floods': () => blockFloods,
}

/** One fault for each kind of hostile node, which is linked to some of the honest ones. */
export const hostileFaults: readonly Fault[] = Object.entries(behaviours).map(([name, behaviour]) => ({
  name,
  // Seen only where few other things go wrong.
  share: name === 'overlapping-chunks' ? 0.15 : 0.06,
  plan: (swarm, random) => {
    const node = new HostileNode(swarm, name, behaviour())
    if (name === 'equivocation') swarm.equivocators.add(nodeIdOf(node.key.publicKey))
    const share = random.next()
    for (const [i, peer] of swarm.nodes.entries())
      if (i === 0 || random.chance(share))
        swarm.sometime(random, () => {
          if (swarm.nodes.includes(peer)) swarm.network.join(node, peer)
        })
    node.start()
  },
}))
