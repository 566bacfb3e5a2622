import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { isStorableTime } from '../base/timestamps.ts'
import type { PublicKey } from '../identity/index.ts'
import { ByteWriter, FrameBuilder, type Linkable, type StreamKey } from '../protocol/index.ts'
import { isReplicated } from './announcing.ts'
import { isFrameFull } from './framing.ts'
import { nameOfStream, ownStreamKey, type TopicContext } from './streams.ts'

/** Where an event of a dump was: a stream of the dumped topic, and the offset in it. */
export interface EventOrigin {
  readonly stream: StreamKey
  readonly offset: number
}

/** Events of a dump, in their order: labels and payloads as in an `AppendRequest`, with the times that they had. */
export interface ImportRequest {
  readonly source: Buffer
  /** For each event: start and end of its labels, start and end of its payload. */
  readonly spans: Int32Array
  readonly times: Float64Array
  readonly origins: readonly EventOrigin[]
  /** The node that made the dump. */
  readonly dumpedBy: PublicKey
}

/** The result of an import. Events that were imported before are not added again. */
export interface Imported {
  readonly added: number
}

/** The events of an import that go to one stream, by their index in the request. */
export interface ImportPlan {
  readonly stream: StreamKey
  readonly events: readonly number[]
}

/** The stream for events of other nodes than the one that made the dump, among its streams. */
const foreignStream = 4

/**
 * Which events of a request to import, and to which stream. Events of the node that made the dump go to a stream of this
 * node, so that queries for local events find the same ones. Each event is imported once, whichever dumps it is in.
 * @param request one that `checkImport` has accepted
 * @param isKnown whether an event was imported before
 */
export function planImport(
  request: ImportRequest,
  isKnown: (origin: EventOrigin) => boolean,
  context: TopicContext,
): ImportPlan[] {
  const own = { stream: ownStreamKey(0, context), events: [] as number[] }
  const others = { stream: { node: request.dumpedBy, number: foreignStream }, events: [] as number[] }
  const seen = new Set<string>()
  for (const [i, origin] of request.origins.entries()) {
    const name = nameOfOrigin(origin)
    if (seen.has(name) || isKnown(origin)) continue
    seen.add(name)
    const isLocal = Buffer.compare(origin.stream.node, request.dumpedBy) === 0
    ;(isLocal ? own : others).events.push(i)
  }
  return [own, others].filter(({ events }) => events.length > 0)
}

/** A key for maps of origins. */
export function nameOfOrigin({ stream, offset }: EventOrigin): string {
  return `${nameOfStream(stream)} ${offset}`
}

/** A frame of imported events. */
export interface ImportedFrame {
  readonly linkable: Linkable
  readonly record: Buffer
  readonly count: number
  /** The lamport timestamp of the last event. */
  readonly lamport: number
  /** Its events, by their index in the request. */
  readonly events: readonly number[]
}

/**
 * Makes the frames of a plan. An event gets its lamport timestamp by its place in the request.
 * @param first the offset of the first event
 * @param lamport that of the first event of the request
 */
export function* importedFrames(
  { source, spans, times }: ImportRequest,
  { events }: ImportPlan,
  first: number,
  lamport: number,
  seed: () => Uint8Array,
): Generator<ImportedFrame> {
  const builder = new FrameBuilder()
  let at = first
  let framed: number[] = []
  for (const [n, i] of events.entries()) {
    builder.add(lamport + i, times[i] as number, source, spans, 4 * i)
    framed.push(i)
    if (!isFrameFull(builder) && n < events.length - 1) continue
    // Kept by the frame until it is linked to the chain.
    const record = new ByteWriter()
    const linkable = builder.finish(at, seed(), record)
    yield { linkable, record: record.written, count: framed.length, lamport: lamport + i, events: framed }
    at += framed.length
    framed = []
  }
}

/** Throws when events cannot be imported. Into a replicated topic they never can: no other node could verify them. */
export function checkImport({ spans, times, origins }: ImportRequest, context: TopicContext): void {
  if (isReplicated(context)) throw invalid(`The topic '${context.topic}' is not an imported one.`)
  assert(
    spans.length === 4 * origins.length && times.length === origins.length,
    'each event has spans, time and origin',
  )
  if (origins.length > limits.eventsPerPublish)
    throw invalid(`An import has at most ${limits.eventsPerPublish} events at a time, not ${origins.length}.`)
  const time = times.find((value) => !isStorableTime(value))
  if (time !== undefined) throw invalid(`An event of the dump has the time ${time}, which cannot be stored.`)
  const wrong = origins.find(({ offset }) => !Number.isSafeInteger(offset) || offset < 0)
  if (wrong !== undefined) throw invalid(`An event of the dump has the offset ${wrong.offset}.`)
}

function invalid(message: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', message)
}
