import { encodeChunk, genesis, type Head, heads, shortHead } from '../../../src/protocol/index.ts'
import { frameOf } from '../../../test/support/events.ts'
import { simTopic } from '../sim-store.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'
import { OwnStream } from './own-stream.ts'

const seed = Buffer.alloc(16, 9)
const number = 7

/** A chunk of two frames with one event each, whose head is changed before it is signed with its own key. */
function twoFrames(
  { key, clock }: HostileNode,
  [first, second]: readonly [first: number, second: number],
  lamports: readonly [number, number],
  change: Partial<Head> = {},
): Uint8Array {
  const stream = { node: key.publicKey, number }
  const time = clock.now()
  const event = (lamport: number) => ({ lamport, time, appId: 'com.example.hostile', tags: ['sim'], payload: '1' })
  const a = frameOf(genesis(simTopic, stream), first, [event(lamports[0])], seed)
  const b = frameOf(a.hash, second, [event(lamports[1])], seed)
  const head = {
    topic: simTopic,
    stream,
    time,
    count: second + 1,
    lamport: lamports[1],
    hash: b.hash,
    checkpoint: true,
  }
  return encodeChunk([a.record, b.record], heads.sign({ ...head, ...change }, key))
}

const chunks: readonly ((node: HostileNode) => Uint8Array)[] = [
  (node) => twoFrames(node, [0, 1], [1, 2], { topic: 'other' }),
  (node) => twoFrames(node, [0, 5], [1, 2]),
  (node) => twoFrames(node, [0, 1], [2, 1]),
  (node) => twoFrames(node, [0, 1], [1, 2], { count: 3 }),
  (node) => twoFrames(node, [0, 1], [1, 2], { lamport: 9 }),
]

/** Signs with its own key what no honest node would sign. */
export const invalidChunks: Behaviour = {
  act: (node, peer) => {
    const make = chunks[node.random.below(chunks.length)]
    if (make !== undefined) node.send(peer, { is: 'push', chunk: make(node) })
    if (node.random.chance(0.2)) sendDescending(node, peer)
    if (node.random.chance(0.1))
      node.send(peer, { is: 'hello', version: 1, features: ['a'], required: ['b'], time: node.clock.now() })
    // Answered with what it has, when it is asked.
    const stream = { node: node.key.publicKey, number }
    const hash = genesis(simTopic, stream)
    const head = { topic: simTopic, stream, time: node.clock.now(), count: 2, lamport: 2, hash, checkpoint: true }
    const short = shortHead(heads.sign(head, node.key), simTopic)
    node.send(peer, {
      is: 'heads',
      entries: [{ isFrozen: false, pruned: 0, records: Buffer.alloc(8), head: short }],
      answer: [],
    })
  },
  answer: (node, peer, { id }) => {
    const make = chunks[node.random.below(chunks.length)]
    if (make !== undefined) node.send(peer, { is: 'chunk', id, more: false, chunk: make(node) })
  },
}

/** A stream whose lamport timestamps do not ascend from one chunk to the next. */
function sendDescending(node: HostileNode, peer: string): void {
  const stream = new OwnStream(node.key, number + 1)
  for (const lamport of [10, 3])
    node.send(peer, { is: 'push', chunk: stream.append(['"descending"'], 1_704_067_200_000_000, lamport).chunk })
}
