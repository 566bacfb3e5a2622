import { nodeAppId, nodeIdOf } from '../../../src/identity/index.ts'
import { streamIdOf } from '../ledger.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'

const names = ['site', 'app', 'manual'] as const
const number = 6
const mostFacts = 60

/** Names files with claims that no honest copy has: in the future, about streams of others, or malformed. */
export const falseFacts: Behaviour = {
  act: (node, peer) => {
    const stream = node.stream(number)
    if (stream.count >= mostFacts) return
    const payload = { Remove: { name: node.random.pick(names) }, copyOf: claim(node) }
    const id = streamIdOf(node.key.publicKey, number)
    node.swarm.unreliable.add(nodeIdOf(node.key.publicKey))
    node.swarm.ledger.facts.push({ lamport: stream.lamport, stream: id, tags: ['ans'], payload })
    const labels = { appId: nodeAppId, tags: ['ans'] }
    const { chunk } = stream.append([JSON.stringify(payload)], node.clock.now(), undefined, labels)
    node.send(peer, { is: 'push', chunk })
  },
}

function claim({ random, swarm }: HostileNode): unknown {
  const stream = swarm.any(random).streamId(random.below(6))
  const claims = [{ lamport: 2 ** 50, stream }, { lamport: random.below(50), stream }, { lamport: -1, stream: 'x' }, 7]
  return claims[random.below(claims.length)]
}
