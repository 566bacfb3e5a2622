import { ShoalError } from '../../base/errors.ts'
import { factTags } from '../../facts/index.ts'
import { formatStreamId, type NodeId, nodeAppId, type StreamId } from '../../identity/index.ts'
import type { EventStore, StreamStatus } from '../../store/index.ts'
import { ownNodeEvents } from '../node-events.ts'
import { redactionBatches } from './redaction-batches.ts'

/** The outcome of a redaction, as ascending offsets. */
export interface Redacted {
  /** Payloads removed. */
  readonly redacted: readonly number[]
  /** Payloads removed by an earlier redaction. */
  readonly alreadyRedacted: readonly number[]
  /** Events removed as a whole, by retention. */
  readonly pruned: readonly number[]
  /** There is no such event. */
  readonly unknown: readonly number[]
  /** Not redacted: facts about names of streams or about files, which the node needs. */
  readonly facts: readonly number[]
}

/** Redacts events of a stream of this node, in batches between which the writer can do other work. */
export async function redactEvents(
  store: EventStore,
  self: NodeId,
  stream: StreamId,
  given: readonly number[],
): Promise<Redacted> {
  if (stream.node !== self)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `The stream ${formatStreamId(stream)} is of the node ${stream.node}: only that node can redact its events. This is the node ${self}.`,
    )
  const offsets = [...new Set(given)].sort((a, b) => a - b)
  const own = (await store.streams()).find(({ own, key }) => own && BigInt(key.number) === stream.number)
  if (own === undefined) return { redacted: [], alreadyRedacted: [], pruned: [], unknown: offsets, facts: [] }
  const pruned = offsets.filter((offset) => offset < own.pruned)
  const unknown = offsets.filter((offset) => offset >= own.count)
  const present = offsets.slice(pruned.length, offsets.length - unknown.length)
  const needed = present.length > 0 ? await factsAmong(store, own, present) : new Set<number>()
  const allowed = present.filter((offset) => !needed.has(offset))
  return { ...(await redactPresent(store, own, allowed)), pruned, unknown, facts: [...needed].sort((a, b) => a - b) }
}

async function redactPresent(
  store: EventStore,
  { number, key }: StreamStatus,
  offsets: readonly number[],
): Promise<Pick<Redacted, 'redacted' | 'alreadyRedacted'>> {
  const redacted: number[] = []
  const alreadyRedacted: number[] = []
  const ends = (await store.chunkSizes(number)).map(({ end }) => end)
  for (const batch of redactionBatches(offsets, ends)) {
    const before = new Set<number>()
    for (const [first, last] of spansOf(batch))
      for (const offset of await store.redactedOffsets(number, first, last + 1)) before.add(offset)
    // Also if all were redacted before: scrubbing the files may have failed then, and is repeated.
    await store.redact(key.number, batch)
    for (const offset of batch) (before.has(offset) ? alreadyRedacted : redacted).push(offset)
  }
  return { redacted, alreadyRedacted }
}

/** Maximum gap between two offsets that are looked up in one range. */
const spanGap = 1024

/** Groups ascending offsets into ranges with small gaps. */
function spansOf(offsets: readonly number[]): [first: number, last: number][] {
  const spans: [number, number][] = []
  for (const offset of offsets) {
    const last = spans.at(-1)
    if (last !== undefined && offset - last[1] <= spanGap) last[1] = offset
    else spans.push([offset, offset])
  }
  return spans
}

/** The offsets of facts among the given ones. */
async function factsAmong(store: EventStore, own: StreamStatus, offsets: readonly number[]): Promise<Set<number>> {
  const [first = 0, last = 0] = [offsets[0], offsets.at(-1)]
  const selection = {
    anyOf: factTags.map((tag) => ({ tags: [tag], appId: nodeAppId, own: true })),
    order: 'asc',
    lower: new Map([[own.number, first - 1]]),
    upper: new Map([[own.number, last]]),
  } as const
  const given = new Set(offsets)
  const facts = new Set<number>()
  for await (const { offset } of ownNodeEvents(store, selection)) if (given.has(offset)) facts.add(offset)
  return facts
}
