import { ShoalError } from '../base/errors.ts'
import {
  ByteReader,
  type Frame,
  type RedactionRecord,
  readFrame,
  redactionRecords,
  withoutPayload,
} from '../protocol/index.ts'
import type { StreamPosition } from './stream-position.ts'
import { ownStreamKey, requireSameTopic, storableNow, type TopicContext } from './streams.ts'

/** Signs that the payload of an event of an own stream is to be removed everywhere. */
export function signRedaction(
  number: number,
  offset: number,
  known: StreamPosition | undefined,
  context: TopicContext,
): Buffer {
  // Other nodes would remove the event that is appended there later.
  if (offset >= (known?.count ?? 0))
    throw new ShoalError('ERR_INVALID_INPUT', `There is no event ${offset} in this stream.`)
  const { topic, key } = context
  const stream = ownStreamKey(number, context)
  return redactionRecords.sign({ topic, stream, offset, time: storableNow(context) }, key)
}

/** What a redaction record says, if the node of the stream has signed it for this topic. */
export function verifyRedaction(signed: Uint8Array, context: TopicContext): RedactionRecord {
  const record = redactionRecords.verify(signed)
  requireSameTopic(record.topic, context)
  return record
}

/** What a redaction record asks for. */
export type RedactionEffect =
  /** Nothing: the event was pruned. */
  | 'none'
  /** The payload is here. It is removed, and the record is kept. */
  | 'remove'
  /** The event has not come yet. The record is kept until it does. */
  | 'expect'

/**
 * Unless there is no effect, all waiting chunks are dropped as well: they may contain the payload, and come again. None
 * that contains it waits after that (`mayWait`).
 */
export function effectOfRedaction({ offset }: RedactionRecord, { pruned, count }: StreamPosition): RedactionEffect {
  if (offset < pruned) return 'none'
  return offset < count ? 'remove' : 'expect'
}

/** The same frames without the payloads at some offsets; a frame that has none of them is the same object. */
export function withoutPayloads(frames: readonly Frame[], offsets: readonly number[]): readonly Frame[] {
  if (offsets.length === 0) return frames
  return frames.map((frame) => {
    let kept = frame
    for (const offset of offsets)
      if (hasPayload(kept, offset)) kept = readFrame(new ByteReader(withoutPayload(kept, offset - kept.first)))
    return kept
  })
}

/** Whether a frame contains the event at an offset, with its payload. */
export function hasPayload({ first, count, payloads }: Frame, offset: number): boolean {
  return offset >= first && offset < first + count && (payloads[2 * (offset - first)] as number) >= 0
}
