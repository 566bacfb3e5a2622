import { ShoalError } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import {
  ByteReader,
  type Frame,
  type RedactionRecord,
  rangesOf,
  readFrame,
  redactionRecords,
  verifyRedactionRecord,
  withoutPayload,
} from '../protocol/index.ts'
import { isHeld, type RecordOrigin } from './records.ts'
import type { StreamLimit } from './stream-budget.ts'
import type { StreamPosition } from './stream-position.ts'
import { ownStreamKey, type ReceiveContext, requireSameTopic, storableNow, type TopicContext } from './streams.ts'

/** Signs a redaction record: the payloads of events of an own stream are to be removed on all nodes. */
export function signRedaction(
  number: number,
  offsets: readonly number[],
  known: StreamPosition | undefined,
  context: TopicContext,
): Buffer {
  const { offsetsPerRedaction, rangesPerRedaction } = format
  if (offsets.length === 0 || offsets.length > offsetsPerRedaction)
    throw refusal(`${offsets.length} events were given to be redacted; it has to be 1 to ${offsetsPerRedaction}.`)
  // A redaction of a future offset would remove the payload of the event that is appended there later.
  const unknown = offsets.find(
    (offset) => !(Number.isSafeInteger(offset) && offset >= 0 && offset < (known?.count ?? 0)),
  )
  if (unknown !== undefined) throw refusal(`There is no event ${unknown} in this stream.`)
  const ranges = rangesOf(offsets)
  if (ranges.length > rangesPerRedaction)
    throw refusal(
      `The events to be redacted are ${ranges.length} ranges of offsets; there may be ${rangesPerRedaction}.`,
    )
  const { topic, key } = context
  return redactionRecords.sign(
    { topic, stream: ownStreamKey(number, context), ranges, time: storableNow(context) },
    key,
  )
}

/** A redaction record with its signed bytes. */
export interface SignedRedaction {
  readonly signed: Uint8Array
  readonly record: RedactionRecord
}

/** Decodes redaction records that are applied together, and checks their signatures and topic. */
export function verifyRedactions(signed: readonly Uint8Array[], context: TopicContext): SignedRedaction[] {
  if (signed.length > limits.redactionsPerCall)
    throw refusal(`${signed.length} redaction records are too many at once; there may be ${limits.redactionsPerCall}.`)
  return signed.map((bytes) => {
    const record = verifyRedactionRecord(bytes)
    requireSameTopic(record.topic, context)
    return { signed: bytes, record }
  })
}

/** The stored part of a stream, as far as redaction depends on it. */
export interface RedactableStream {
  readonly position: StreamPosition
  /** The redacted offsets in a range, including those of events that were not received yet. */
  redactedBetween(from: number, to: number): readonly number[]
  /** Number of records and of offsets that are kept for events that were not received yet. */
  expected(): { readonly records: number; readonly offsets: number }
}

/** The effect of a redaction record. */
export type RedactionEffect =
  /** None: all its events are pruned or redacted already. */
  | { readonly is: 'none' }
  /** None: it would remove own payloads without a local decision. */
  | { readonly is: 'hold' }
  /** None: there are too many redactions of events that were not received yet. */
  | { readonly is: 'full' }
  /** None: the stream is unknown, and would exceed a limit. */
  | { readonly is: 'refused' }
  | RedactionOfEvents

/** The record is kept, for the offsets that are new. Both lists are ascending. */
export interface RedactionOfEvents {
  readonly is: 'redact'
  /** Events whose payloads are stored here. They are removed. */
  readonly remove: readonly number[]
  /**
   * Events that were not received yet. Waiting chunks that may contain them are dropped, and are sent again; after that
   * `mayKeepPayloads` refuses chunks with the payloads.
   */
  readonly expect: readonly number[]
}

/** @param limit the limit that keeps an unknown stream from being added */
export function effectOfRedaction(
  { stream, ranges }: RedactionRecord,
  known: RedactableStream | undefined,
  context: ReceiveContext,
  origin: RecordOrigin,
  limit?: StreamLimit,
): RedactionEffect {
  const { pruned, count: stored } = known?.position ?? { pruned: 0, count: 0 }
  const added: number[] = []
  for (const { first, count } of ranges) {
    const [from, end] = [Math.max(first, pruned), first + count]
    const before = new Set(from < end ? known?.redactedBetween(from, end) : [])
    for (let offset = from; offset < end; offset++) if (!before.has(offset)) added.push(offset)
  }
  if (added.length === 0) return { is: 'none' }
  const beyond = added.findIndex((offset) => offset >= stored)
  const expect = beyond < 0 ? [] : added.slice(beyond)
  const isOwnHeld = isHeld(stream, origin, context)
  // An adopted event comes without its payload if it was redacted: the record is kept for it, and removes nothing.
  if (isOwnHeld && (context.mayAdopt !== true || expect.length === 0)) return { is: 'hold' }
  if (limit !== undefined) return { is: 'refused' }
  const remove = isOwnHeld ? [] : added.slice(0, added.length - expect.length)
  if (!mayExpect(expect, known)) {
    // Those of the next chunk have to be known before it comes. The others are sent again later.
    const near = expect.filter((offset) => offset < stored + format.eventsPerChunk)
    return near.length + remove.length === 0 ? { is: 'full' } : { is: 'redact', remove, expect: near }
  }
  return { is: 'redact', remove, expect }
}

function mayExpect(added: readonly number[], known: RedactableStream | undefined): boolean {
  if ((added.at(-1) ?? -1) < (known?.position.count ?? 0) + format.eventsPerChunk) return true
  const { records, offsets } = known?.expected() ?? { records: 0, offsets: 0 }
  return records < limits.expectedRedactions && offsets + added.length <= limits.expectedRedactedEvents
}

/** Redacts the payloads at the given offsets; a frame without any of them is returned as is. */
export function withoutPayloads(frames: readonly Frame[], offsets: readonly number[]): readonly Frame[] {
  if (offsets.length === 0) return frames
  const redacted = new Set(offsets)
  return frames.map((frame) => {
    const indices: number[] = []
    for (let i = 0; i < frame.count; i++)
      if (redacted.has(frame.first + i) && hasPayload(frame, frame.first + i)) indices.push(i)
    return indices.length === 0 ? frame : readFrame(new ByteReader(withoutPayload(frame, ...indices)))
  })
}

/** Whether a frame contains the payload of the event at an offset. */
export function hasPayload({ first, count, payloads }: Frame, offset: number): boolean {
  return offset >= first && offset < first + count && (payloads[2 * (offset - first)] as number) >= 0
}

function refusal(message: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', message)
}
