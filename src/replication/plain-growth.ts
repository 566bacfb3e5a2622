import type { Chunk, Head } from '../protocol/index.ts'
import { ChainEnd } from './chain.ts'
import type { ReceivingStream } from './chunk-admission.ts'
import { fitsChunk } from './chunk-bounds.ts'
import type { ChunkLink } from './chunk-link.ts'
import { isTooFarAhead } from './lamport-clock.ts'
import type { Growth } from './stream-position.ts'
import { isOwnStream, type TopicContext } from './streams.ts'

/** A verified chunk, without its frames. */
export interface ChunkSummary {
  readonly head: Head
  readonly first: number
  /** The lamport timestamp of its first event. */
  readonly lamport: number
  /** Size of its frame records. */
  readonly bytes: number
  /** Whether no payload is missing: then no redaction record is needed. */
  readonly isComplete: boolean
  readonly link: ChunkLink | undefined
}

export function summaryOf({ head, first, frames }: Chunk, link: ChunkLink | undefined): ChunkSummary {
  const lamport = frames[0]?.lamports[0] as number
  const bytes = frames.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  // A record with a seed has all payloads.
  const isComplete = frames.every(
    ({ seed, payloads }) => seed !== undefined || payloads.every((start, i) => i % 2 === 1 || start >= 0),
  )
  return { head, first, lamport, bytes, isComplete, link }
}

/**
 * What a chunk adds to a stream, if it is the plain case: it continues the stream, everything of it is stored, and no
 * chunk waits for it. Undefined in all other cases, which `decideChunk` decides.
 */
export function plainGrowth(
  { head, first, lamport, bytes, isComplete, link }: ChunkSummary,
  stream: Omit<ReceivingStream, 'frames'>,
  context: TopicContext,
): Growth | undefined {
  const { position } = stream
  const count = head.count - first
  if (head.topic !== context.topic || isOwnStream(head.stream, context) || stream.isFrozen) return undefined
  if (first !== position.count || lamport <= position.lamport) return undefined
  if (link?.leads !== true || link.from !== position.chain.hash) return undefined
  if (isTooFarAhead(head.lamport, context.now())) return undefined
  if (!fitsChunk(position.eventsSince + count, position.bytesSince + bytes)) return undefined
  if (!isComplete || stream.redactedBetween(first, head.count).length > 0) return undefined
  if (stream.waitingRoom().stream.chunks > 0) return undefined
  return { count, lamport: head.lamport, chain: new ChainEnd(head.hash), bytes }
}
