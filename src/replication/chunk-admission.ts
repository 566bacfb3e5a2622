import { format } from '../base/format.ts'
import { type Chunk, type Frame, type Head, MalformedBytes } from '../protocol/index.ts'
import { ChainEnd, hashThrough } from './chain.ts'
import { unlessMalformed } from './chunk-verification.ts'
import { isTooFarAhead, type LamportClock } from './lamport-clock.ts'
import { withoutPayloads } from './redaction.ts'
import { type Growth, grow, type StreamPosition } from './stream-position.ts'
import { isOwnStream, type TopicContext } from './streams.ts'
import { nextWaiting } from './waiting-chunks.ts'

/** What became of a chunk from another node. */
export type Received =
  /** It is stored; events up to `count` can be read. */
  | { readonly state: 'stored'; readonly count: number }
  /** Everything in it was there already. */
  | { readonly state: 'known'; readonly count: number }
  /** It is kept until the events before it have come, from `count` on. */
  | { readonly state: 'waiting'; readonly count: number }
  /** Its lamport timestamps are too far in the future to be applied now. */
  | { readonly state: 'early'; readonly count: number }

/** Why a chunk is neither stored nor kept; undefined when it may be. Throws when no honest node would have sent it here. */
export function refusalOf(
  { head }: Chunk,
  known: StreamPosition | undefined,
  context: TopicContext,
): 'known' | 'early' | undefined {
  if (head.topic !== context.topic) throw new MalformedBytes('a chunk of another topic')
  if (isOwnStream(head.stream, context)) throw new MalformedBytes('a chunk of a stream of this node')
  if (head.count <= (known?.count ?? 0)) return 'known'
  if (isTooFarAhead(head.lamport, context.now())) return 'early'
  return undefined
}

/** Whether events are missing between the end of a stream and a chunk. */
export function isAhead({ first }: Chunk, { count }: StreamPosition): boolean {
  return first > count
}

/** A stream of another node, and what the store keeps of it that the rules ask for. */
export interface ReceivingStream {
  readonly position: StreamPosition
  readonly clock: LamportClock
  /** The offsets from one up to another whose payloads are to be removed, also of events that have not come yet. */
  redactedBetween(from: number, to: number): readonly number[]
  /** Takes all waiting chunks that begin at this offset or before it out of the store. */
  takeWaiting(upTo: number): readonly Chunk[]
}

/** Verified events of another node, to be stored at the end of their stream. */
export interface Addition extends Growth {
  readonly first: number
  /** Without the payloads that are to be removed. */
  readonly frames: readonly Frame[]
  /** The head that they lead to. */
  readonly head: Head
  readonly signedHead: Uint8Array
}

/**
 * Admits a chunk that continues a stream, and the chunks that waited for it. Position and clock have moved when an addition
 * is yielded; the store has to persist it. Throws before anything has changed when the chunk contradicts what is here.
 */
export function* admit(chunk: Chunk, stream: ReceivingStream): Generator<Addition> {
  yield accept(chunk, stream)
  yield* admitWaiting(stream)
}

/** Admits the waiting chunks that continue a stream now. One that turns out to be bad is dropped alone. */
export function* admitWaiting(stream: ReceivingStream): Generator<Addition> {
  const { position } = stream
  for (;;) {
    const chunk = nextWaiting(stream.takeWaiting(position.count), position.count)
    if (chunk === undefined) return
    const addition = unlessMalformed(() => accept(chunk, stream))
    if (addition !== undefined) yield addition
  }
}

function accept(chunk: Chunk, stream: ReceivingStream): Addition {
  const addition = continuation(chunk, stream)
  grow(stream.position, addition)
  stream.clock.follow(addition.lamport)
  return addition
}

/** What a chunk adds to a stream. Throws when the events are not those that follow the ones that are here. */
function continuation({ frames, head, signedHead }: Chunk, stream: ReceivingStream): Addition {
  const { count: first, lamport, chain, eventsSince } = stream.position
  const added = frames.filter((frame) => frame.first + frame.count > first)
  const count = head.count - first
  if (added[0]?.first !== first) throw new MalformedBytes('a chunk is framed in another way than what is here')
  if ((added[0].lamports[0] as number) <= lamport) throw new MalformedBytes('the lamport timestamps do not rise')
  if (eventsSince + count > format.eventsPerChunk) throw new MalformedBytes('a stream has too few checkpoints')
  const hash = hashThrough(added, chain.hash)
  if (hash !== head.hash) throw new MalformedBytes('the frames do not lead to the signed head')
  const kept = withoutPayloads(added, stream.redactedBetween(first, head.count))
  const bytes = kept.reduce((sum, { record: [start, end] }) => sum + end - start, 0)
  return { first, count, lamport: head.lamport, chain: new ChainEnd(hash), bytes, frames: kept, head, signedHead }
}
