import { type Frame, genesis, type Head, heads, type StreamKey } from '../protocol/index.ts'
import { ChainWalk } from './chain.ts'
import { unlessMalformed } from './chunk-verification.ts'
import { isSameStream } from './streams.ts'

/** A stored checkpoint that is readable; its signature was not verified. */
export interface ReadableCheckpoint {
  readonly count: number
  /** The count of the checkpoint before it; 0 when there is none. */
  readonly before: number
  readonly head: Uint8Array
}

/** What is readable of a damaged stream of another node. */
export interface ReadableStream {
  readonly topic: string
  readonly key: StreamKey
  readonly pruned: number
  readonly checkpoints: Iterable<ReadableCheckpoint>
  /** The frames from `pruned` on, in order, up to the first that cannot be read. */
  readonly frames: Iterable<Frame>
}

/** The end of the intact part of a stream: a checkpoint. */
export interface VerifiedEnd {
  readonly head: Head
  readonly signedHead: Uint8Array
}

/**
 * The last checkpoint of a damaged stream up to which all of it is intact: events without a gap, a hash chain that leads
 * from checkpoint to checkpoint, valid signatures. Undefined when nothing is; then the stream starts anew.
 */
export function verifiedPrefix({ topic, key, pruned, checkpoints, frames }: ReadableStream): VerifiedEnd | undefined {
  const readable = new Map([...checkpoints].map((checkpoint) => [checkpoint.count, checkpoint]))
  const verified = (count: number): (VerifiedEnd & { readonly before: number }) | undefined => {
    const found = readable.get(count)
    const head = found && unlessMalformed(() => heads.verifyStored(found.head))
    if (found === undefined || head === undefined) return undefined
    const fits = head.checkpoint && head.count === count && head.topic === topic && isSameStream(head.stream, key)
    return fits ? { head, signedHead: found.head, before: found.before } : undefined
  }
  let end: VerifiedEnd | undefined = pruned === 0 ? undefined : verified(pruned)
  if (pruned > 0 && end === undefined) return undefined
  const walk = new ChainWalk(pruned, end?.head ?? { lamport: -1, hash: genesis(topic, key) })
  for (const frame of frames) {
    if (!continues(walk, frame)) break
    if (!readable.has(walk.count)) continue
    const next = verified(walk.count)
    // A chunk that lacks a checkpoint within would be too large for other nodes.
    if (next === undefined || next.before !== (end?.head.count ?? 0)) break
    if (next.head.hash !== walk.hash || next.head.lamport !== walk.lamport) break
    end = next
  }
  return end
}

function continues(walk: ChainWalk, frame: Frame): boolean {
  try {
    walk.add(frame)
    return true
  } catch {
    // A gap, or lamport timestamps that do not ascend.
    return false
  }
}
