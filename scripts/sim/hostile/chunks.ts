import {
  decodeChunk,
  encodeChunk,
  type Frame,
  heads,
  signedHeadOf,
  withoutAllPayloads,
} from '../../../src/protocol/index.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'
import { ifWellFormed } from './hostile-node.ts'
import { forge, OwnStream } from './own-stream.ts'

const mostOverlapping = 20

/** Flips bits of chunks of honest nodes. */
export const alteredChunks: Behaviour = {
  act: (node, peer) => {
    const chunk = altered(node, node.anyChunk())
    if (chunk !== undefined) node.send(peer, { is: 'push', chunk })
  },
  answer: (node, peer, { id }) => {
    const chunk = altered(node, node.anyChunk())
    node.send(
      peer,
      chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
    )
  },
}

function altered({ random }: HostileNode, chunk: Uint8Array | undefined): Uint8Array | undefined {
  if (chunk === undefined) return undefined
  const copy = Uint8Array.from(chunk)
  const at = random.below(copy.length)
  copy[at] = (copy[at] as number) ^ (1 << random.below(8))
  return copy
}

/** Continues the streams of honest nodes with events of its own, signed with its own key. */
export const forgedChunks: Behaviour = {
  act: (node, peer) => {
    const chunk = forged(node, node.anyChunk())
    if (chunk !== undefined) node.send(peer, { is: 'push', chunk })
  },
  answer: (node, peer, { id }) => {
    const chunk = forged(node, node.anyChunk())
    node.send(
      peer,
      chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
    )
  },
}

function forged({ key, clock }: HostileNode, chunk: Uint8Array | undefined): Uint8Array | undefined {
  const head = chunk && ifWellFormed(() => heads.decode(signedHeadOf(chunk)))
  if (head === undefined) return undefined
  const { stream, count, hash, lamport } = head
  const payloads = ['"forged"']
  return forge({ key, stream, previous: hash, first: count, lamport: lamport + 1, time: clock.now(), payloads }).chunk
}

/** Removes payloads from chunks of honest nodes, which does not change the hash chain. */
export const strippedPayloads: Behaviour = {
  act: (node, peer) => {
    const chunk = stripped(node.anyChunk())
    if (chunk !== undefined) node.send(peer, { is: 'push', chunk })
  },
  answer: (node, peer, { id, stream, from }) => {
    const isWanted = (chunk: Uint8Array): boolean => {
      const head = ifWellFormed(() => heads.decode(signedHeadOf(chunk)))
      return head !== undefined && Buffer.compare(head.stream.node, stream.node) === 0 && head.count > from
    }
    const chunk = stripped(node.chunks.find(isWanted))
    node.send(
      peer,
      chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
    )
  },
}

function stripped(chunk: Uint8Array | undefined): Uint8Array | undefined {
  const decoded = chunk && ifWellFormed(() => decodeChunk(chunk))
  if (decoded === undefined) return undefined
  const records = decoded.frames.map((frame) => Buffer.from(withoutAllPayloads(frame)))
  return encodeChunk(records, decoded.signedHead)
}

/** Sends new events of its own together with known ones, whose payloads are removed. */
export function overlappingChunks(): Behaviour {
  let stream: OwnStream | undefined
  return {
    act: (node, peer) => {
      stream ??= new OwnStream(node.key, 3)
      if (stream.count > mostOverlapping) return
      const known = stream.append(['"known"'], node.clock.now()).chunk
      node.send(peer, { is: 'push', chunk: known })
      const { chunk, signedHead } = stream.append(['"new"'], node.clock.now())
      const records = [withoutAllPayloads(frameIn(known)), withPayloads(chunk)]
      node.send(peer, { is: 'push', chunk: encodeChunk(records, signedHead) })
    },
    answer: (node, peer, { id, from }) => {
      const chunk = stream?.from(from)
      node.send(
        peer,
        chunk === undefined ? { is: 'nothing', id, reason: 'notHere' } : { is: 'chunk', id, more: false, chunk },
      )
    },
  }
}

function frameIn(chunk: Uint8Array): Frame {
  return decodeChunk(chunk).frames[0] as Frame
}

function withPayloads(chunk: Uint8Array): Uint8Array {
  const { bytes, record } = frameIn(chunk)
  return bytes.subarray(...record)
}

/** Answers requests with chunks that were not asked for, and claims to have what it has not. */
export const wrongChunks: Behaviour = {
  act: (node, peer) => {
    if (node.heads.length > 0) node.send(peer, { is: 'heads', entries: node.heads, answer: [] })
  },
  answer: (node, peer, { id }) => {
    const chunk = node.random.chance(0.8) ? node.anyChunk() : Buffer.from('not a chunk')
    if (chunk !== undefined) node.send(peer, { is: 'chunk', id, more: false, chunk })
  },
}
