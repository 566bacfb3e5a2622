import { heads, shortHead } from '../../../src/protocol/index.ts'
import { simTopic } from '../sim-store.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'
import { OwnStream } from './own-stream.ts'

const hour = 3600e6
const mostEvents = 1000
const mostStreams = 30
/** Events before a fork. */
const mostCommon = 6

/** Writes two histories of a stream, most with a common start, and sends them to different peers. */
export function equivocation(): Behaviour {
  let branches: readonly [OwnStream, OwnStream] | undefined
  const started = new Set<string>()
  const branchOf = (node: HostileNode, peer: string): OwnStream => {
    branches ??= forkedStreams(node)
    return branches[node.peerNumber(peer) % 2 === 0 ? 0 : 1]
  }
  return {
    act: (node, peer) => {
      const branch = branchOf(node, peer)
      if (branch.count > mostEvents) return
      if (!started.has(peer)) for (const { chunk } of branch.chunks) node.send(peer, { is: 'push', chunk })
      started.add(peer)
      const payload = JSON.stringify({ branch: node.peerNumber(peer) % 2, at: branch.count })
      node.send(peer, { is: 'push', chunk: branch.append([payload], node.clock.now()).chunk })
    },
    answer: (node, peer, { id, from }) => {
      const chunk = branchOf(node, peer).from(from)
      node.send(
        peer,
        chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
      )
    },
  }
}

function forkedStreams({ key, random, clock }: HostileNode): [OwnStream, OwnStream] {
  const branches: [OwnStream, OwnStream] = [new OwnStream(key, 0), new OwnStream(key, 0)]
  const common = random.below(mostCommon)
  const time = clock.now()
  for (let at = 0; at < common; at++) for (const branch of branches) branch.append([`{"common":${at}}`], time)
  return branches
}

/** Events with lamport timestamps in the future: within the bound, beyond it, and beyond what a number can hold. */
export const farLamports: Behaviour = {
  act: (node, peer) => {
    const now = node.clock.now()
    const ahead = [20 * hour, 40 * 24 * hour, 300 * 24 * hour]
    const lamports = [...ahead.map((micros) => now + micros), 2 ** 53 - 3, 2 ** 53]
    const number = node.random.below(lamports.length)
    const stream = node.stream(number)
    const lamport = stream.count === 0 ? lamports[number] : undefined
    const { chunk } = stream.chunks[0] ?? stream.append(['"far ahead"'], now, lamport)
    node.send(peer, { is: 'push', chunk })
    if (node.random.chance(0.2)) node.send(peer, claimOf(node, { count: 1, lamport: 2 ** 63 }))
  },
}

/** Claims to have more events than there can be, in streams of its own and of honest nodes. */
export const absurdCounts: Behaviour = {
  act: (node, peer) => {
    const [claim] = [node.heads[node.random.below(node.heads.length)]]
    if (claim?.isFrozen === false)
      node.send(peer, { is: 'heads', entries: [{ ...claim, pruned: 2 ** 52 }], answer: [] })
    node.send(peer, claimOf(node, { count: 2 ** 53 - 1, lamport: 7 }))
    if (node.random.chance(0.2)) node.sendBytes(peer, Buffer.from([5, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]))
  },
}

function claimOf(node: HostileNode, { count, lamport }: { count: number; lamport: number }) {
  const hash = '\0'.repeat(32) as Parameters<typeof heads.sign>[0]['hash']
  const stream = { node: node.key.publicKey, number: 0 }
  const head = { topic: simTopic, stream, time: node.clock.now(), count, lamport, hash, checkpoint: false }
  const short = shortHead(heads.sign(head, node.key), simTopic)
  const entries = [{ isFrozen: false, pruned: 0, records: Buffer.alloc(8), head: short }] as const
  return { is: 'heads', entries, answer: [] } as const
}

/** Publishes without end. */
export const endlessStream: Behaviour = {
  act: (node, peer) => {
    const stream = node.stream(0)
    if (stream.count >= mostEvents) return
    const payloads = Array.from({ length: 20 }, (_, i) => JSON.stringify({ endless: stream.count + i }))
    node.send(peer, { is: 'push', chunk: stream.append(payloads, node.clock.now()).chunk })
  },
}

/** Creates many streams: of its own, and with keys that it makes up. */
export function manyStreams(): Behaviour {
  let made = 0
  return {
    act: (node, peer) => {
      if (made >= mostStreams) return
      const number = made++
      const isOwn = number % 2 === 0
      const stream = isOwn ? node.stream(number) : new OwnStream(node.swarm.key(`${node.label} key ${number}`), 0)
      node.send(peer, { is: 'push', chunk: stream.append(['"one of many"'], node.clock.now()).chunk })
    },
  }
}
