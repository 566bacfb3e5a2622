import { clockError } from '../base/clock-error.ts'
import { ShoalError } from '../base/errors.ts'
import { isStorableTime } from '../base/timestamps.ts'
import type { KeyPair } from '../identity/index.ts'
import type { StreamKey, TopicKind } from '../protocol/index.ts'

/** A topic and the identity of the node that stores it. */
export interface TopicContext {
  readonly topic: string
  readonly kind: TopicKind
  /** The key of this node; the streams of its public key are its own. */
  readonly key: KeyPair
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly now: () => number
}

/** The same for what comes from other nodes. */
export interface ReceiveContext extends TopicContext {
  /** Whether redactions of own events are kept that are not here, since other nodes may have them: after a doubtful start. */
  readonly mayAdopt?: boolean
}

/** The current wall-clock time; throws when it cannot be stored. */
export function storableNow({ now }: Pick<TopicContext, 'now'>): number {
  const time = now()
  if (!isStorableTime(time)) throw clockError(time)
  return time
}

export function isOwnStream({ node }: StreamKey, { key }: TopicContext): boolean {
  return Buffer.compare(node, key.publicKey) === 0
}

export function ownStreamKey(number: number, { key }: TopicContext): StreamKey {
  return { node: key.publicKey, number }
}

export function isSameStream(a: StreamKey, b: StreamKey): boolean {
  return a.number === b.number && Buffer.compare(a.node, b.node) === 0
}

/** Throws for own streams: no other node could send all of their events again. */
export function requireForgettable(stream: StreamKey, context: TopicContext): void {
  if (isOwnStream(stream, context))
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      'A stream of this node cannot be forgotten, only those of other nodes. To keep fewer of its events, set limits: `shoal settings set /eventRouting/streams/<name>`.',
    )
}

/** The characters of a public key in the name of a stream. */
const nodeLength = 32

/** A name for a stream that is unique within its topic, as a key of maps. */
export function nameOfStream({ node, number }: StreamKey): string {
  return `${Buffer.from(node.buffer, node.byteOffset, node.length).toString('latin1')}${number}`
}

/** The public key of the node of a stream as latin1, from the name of the stream. */
export function nodeOfStreamName(name: string): string {
  return name.slice(0, nodeLength)
}

/** Throws when a signed record is for another topic. */
export function requireSameTopic(topic: string, context: Pick<TopicContext, 'topic'>): void {
  if (topic !== context.topic) throw new ShoalError('ERR_INVALID_INPUT', 'This record is for another topic.')
}
