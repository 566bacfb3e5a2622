import { ShoalError } from '../base/errors.ts'
import {
  ByteReader,
  type Frame,
  type RedactionRecord,
  readFrame,
  redactionRecords,
  withoutPayload,
} from '../protocol/index.ts'
import { isHeld, type RecordOrigin } from './records.ts'
import type { StreamPosition } from './stream-position.ts'
import { ownStreamKey, requireSameTopic, storableNow, type TopicContext } from './streams.ts'

/** Signs a redaction record: the payload of an event of an own stream is to be removed on all nodes. */
export function signRedaction(
  number: number,
  offset: number,
  known: StreamPosition | undefined,
  context: TopicContext,
): Buffer {
  // A redaction of a future offset would remove the payload of the event that is appended there later.
  if (offset >= (known?.count ?? 0))
    throw new ShoalError('ERR_INVALID_INPUT', `There is no event ${offset} in this stream.`)
  const { topic, key } = context
  const stream = ownStreamKey(number, context)
  return redactionRecords.sign({ topic, stream, offset, time: storableNow(context) }, key)
}

/** Decodes a redaction record, and checks its signature and topic. */
export function verifyRedaction(signed: Uint8Array, context: TopicContext): RedactionRecord {
  const record = redactionRecords.verify(signed)
  requireSameTopic(record.topic, context)
  return record
}

/** The effect of a redaction record. */
export type RedactionEffect =
  /** None: the event was pruned. */
  | 'none'
  /** None: it would remove an own payload without a local decision. */
  | 'hold'
  /** The payload is stored here. It is removed, and the record is kept. */
  | 'remove'
  /** The event was not received yet. The record is kept until it is. */
  | 'expect'

/**
 * Unless there is no effect, all waiting chunks are dropped as well: they may contain the payload, and are sent again.
 * After that `mayWait` refuses chunks with the payload.
 */
export function effectOfRedaction(
  { stream, offset }: RedactionRecord,
  known: StreamPosition | undefined,
  isRedacted: (offset: number) => boolean,
  context: TopicContext,
  origin: RecordOrigin,
): RedactionEffect {
  const { pruned, count } = known ?? { pruned: 0, count: 0 }
  if (offset < pruned || isRedacted(offset)) return 'none'
  if (isHeld(stream, origin, context)) return 'hold'
  return offset < count ? 'remove' : 'expect'
}

/** Redacts the payloads at the given offsets; a frame without any of them is returned as is. */
export function withoutPayloads(frames: readonly Frame[], offsets: readonly number[]): readonly Frame[] {
  if (offsets.length === 0) return frames
  return frames.map((frame) => {
    let kept = frame
    for (const offset of offsets)
      if (hasPayload(kept, offset)) kept = readFrame(new ByteReader(withoutPayload(kept, offset - kept.first)))
    return kept
  })
}

/** Whether a frame contains the payload of the event at an offset. */
export function hasPayload({ first, count, payloads }: Frame, offset: number): boolean {
  return offset >= first && offset < first + count && (payloads[2 * (offset - first)] as number) >= 0
}
