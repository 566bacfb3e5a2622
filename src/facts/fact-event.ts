import { parseStreamId } from '../identity/index.ts'
import { type EventKey, type FactPlace, placeOfFact } from '../replication/index.ts'

/** The tag of the events that assign numbers to stream names. */
export const mappingTag = 'event_routing'

/** The tags of the events with facts, by kind: stream names, names of files, uploads and their removal. */
export const factTagLists: readonly (readonly string[])[] = [
  [mappingTag],
  ['ans'],
  ['files', 'files:created'],
  ['files', 'files:removed'],
]

/** An event of a node has a fact if it has one of these tags. */
export const factTags: readonly string[] = [mappingTag, 'ans', 'files:created', 'files:removed']

/** An event of a node (not of an app), as queries return it. */
export interface FactEvent extends EventKey {
  readonly tags: readonly string[]
  readonly payload: unknown
}

/** The place of the fact in an event: its own, or for a copy that of its original. */
export function factPlace({ lamport, stream, payload }: Omit<FactEvent, 'tags'>): FactPlace {
  return placeOfFact({ lamport, stream }, claimedKey(payload))
}

/** What to publish as the copy of a fact. The copy of a copy claims the place of the original, too. */
export function copyOfFact(event: FactEvent): Pick<FactEvent, 'tags' | 'payload'> {
  const { lamport, stream } = factPlace(event).key
  return { tags: event.tags, payload: { ...members(event.payload), copyOf: { lamport, stream } } }
}

/** The assignment of a number to the name of a stream. */
interface Mapping {
  readonly streamName: string
  readonly streamNr: number
}

export function mappingOf({ tags, payload }: Pick<FactEvent, 'tags' | 'payload'>): Mapping | undefined {
  const { streamName, streamNr } = members(payload)
  if (!tags.includes(mappingTag) || typeof streamName !== 'string' || !isCount(streamNr)) return undefined
  return { streamName, streamNr }
}

/**
 * What a fact is about; undefined if the event has none. Each number of a stream name is a subject of its own: when a
 * stream is frozen, its name gets another number, and events are in both.
 */
export function subjectOf(event: FactEvent): string | undefined {
  const { tags, stream, payload } = event
  if (!isObject(payload) || !factTags.some((tag) => tags.includes(tag))) return undefined
  const mapping = mappingOf(event)
  if (mapping !== undefined) {
    // The streams of a node are its own affair: a copy by another node counts for nothing.
    if (nodeOf((claimedKey(payload) ?? event).stream) !== nodeOf(stream)) return undefined
    return text('stream', nodeOf(stream), mapping.streamName, mapping.streamNr)
  }
  const { Add: added, Remove: removed, type, cid } = payload
  const { name } = members(isObject(added) ? added : removed)
  if (tags.includes('ans') && typeof name === 'string') return text('name', name)
  if (uploadTypes.has(type) && typeof cid === 'string') return text('upload', cid)
  // Written by a later version. Its copies are about the same.
  const { key } = factPlace(event)
  return text('event', key.lamport, key.stream)
}

const uploadTypes: ReadonlySet<unknown> = new Set(['fileAdded', 'directoryAdded', 'removed'])

/** The key that a copy claims for its original. A malformed claim is none. */
function claimedKey(payload: unknown): EventKey | undefined {
  const { lamport, stream } = members(members(payload)['copyOf'])
  return isCount(lamport) && typeof stream === 'string' && isStreamId(stream) ? { lamport, stream } : undefined
}

function isStreamId(value: string): boolean {
  try {
    parseStreamId(value)
    return true
  } catch {
    return false
  }
}

function nodeOf(stream: string): string {
  return stream.slice(0, stream.indexOf('-'))
}

function text(...parts: (string | number)[]): string {
  return JSON.stringify(parts)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

type Members = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function members(value: unknown): Members {
  return isObject(value) ? value : {}
}
