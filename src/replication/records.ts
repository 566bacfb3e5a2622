import type { StreamKey } from '../protocol/index.ts'
import { isOwnStream, type TopicContext } from './streams.ts'

/** Whether this node has just decided to make a record, or got it from another node. */
export type RecordOrigin = 'local' | 'received'

/** The outcome of applying a prune record. */
export interface PruneResult {
  readonly state: /** Events were removed, or the stream starts at the checkpoint now. */
    | 'applied'
    /** As much was pruned before. */
    | 'known'
    /** It would remove own events, which only a local decision does. */
    | 'held'
    /** It belongs to another history of the stream than the events here: its node has signed both. */
    | 'fork'
}

/** The outcome of applying a redaction record. */
export interface RedactionResult {
  readonly state: /** Payloads were removed. */
    | 'applied'
    /** It is kept until its events arrive. */
    | 'waiting'
    /** There is nothing to remove: its events are pruned or redacted already. */
    | 'known'
    /** It would remove own payloads, which only a local decision does. */
    | 'held'
    /** Refused: too many redactions of this stream wait for their events. To be sent again when these have arrived. */
    | 'full'
    /** Refused: its stream is unknown here, and would exceed a limit. */
    | 'refused'
}

/**
 * Whether a record must not remove anything. A received record of an own stream was made before a backup was restored,
 * or by somebody with the key: neither is a decision of this node about the events that it has acknowledged.
 */
export function isHeld(stream: StreamKey, origin: RecordOrigin, context: TopicContext): boolean {
  return origin === 'received' && isOwnStream(stream, context)
}
