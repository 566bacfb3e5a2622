import { ByteWriter, decodeChunk, withoutAllPayloads } from '../../../src/protocol/index.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'
import { OwnStream } from './own-stream.ts'

const domain = Buffer.from('shoal/fork/1\0', 'latin1')
const number = 8

/** Says that streams of honest nodes are forked, and sends what proves nothing. */
export const falseEvidence: Behaviour = {
  act: (node, peer) => {
    const victim = node.swarm.any(node.random)
    const key = { node: Buffer.from(victim.name, 'latin1'), number: node.random.below(2) }
    node.send(peer, { is: 'heads', entries: [{ isFrozen: true, stream: key as never }], answer: [] })
  },
  answerEvidence: (node, peer, id) => node.send(peer, { is: 'evidence', id, record: evidence(node) }),
}

/** Heads of one chain in all orders, without frames, with some of them or cut off, and bytes that are no evidence. */
function evidence(node: HostileNode): Uint8Array {
  const { random, key, clock } = node
  const stream = new OwnStream(key, number)
  const chunks = [1, 2, 3].map(() => stream.append(['"one"'], clock.now()))
  const heads = chunks.map(({ signedHead }) => signedHead)
  const frames = chunks.flatMap(({ chunk }) => decodeChunk(chunk).frames)
  const other = new OwnStream(key, number + 1).append(['"other"'], clock.now()).signedHead
  const any = (): Uint8Array => [...heads, other, Buffer.of()][random.below(5)] as Uint8Array
  const writer = new ByteWriter(1024).bytes(random.chance(0.9) ? domain : Buffer.alloc(domain.length))
  for (const head of [any(), any(), random.chance(0.5) ? Buffer.of() : any()]) writer.uvarint(head.length).bytes(head)
  for (let i = 0; i < 2; i++) {
    const sent = random.chance(0.5) ? frames.filter(() => random.chance(0.7)) : []
    writer.uvarint(random.chance(0.9) ? sent.length : 2 ** (1 + random.below(20)))
    for (const frame of sent) writer.bytes(withoutAllPayloads(frame))
  }
  return writer.copy()
}
