import type { EventKey } from '../store/index.ts'
import { parseCid } from './unixfs/index.ts'

/** A fact about files, as an event of a node states it. */
export type Fact =
  | {
      readonly kind: 'name'
      readonly name: string
      readonly cid: string | undefined
      /** Whether its website requires a token. */
      readonly isPrivate?: boolean
    }
  | { readonly kind: 'upload'; readonly cid: string; readonly isPinned: boolean }
  | { readonly kind: 'query'; readonly app: string; readonly query: string; readonly until: number }

/** A fact with the event key of its event. */
export interface KeyedFact {
  readonly fact: Fact
  readonly key: EventKey
}

/** An event as a subscription delivers it. */
export interface FileEvent {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  /** Microseconds since the Unix epoch. */
  readonly timestamp: number
  readonly payload: unknown
}

type Members = { readonly [name: string]: unknown }

/** Parses the fact in an event, if it has one. The event may have been written by another version of the node. */
export function factOf({ payload, timestamp }: Pick<FileEvent, 'payload' | 'timestamp'>): Fact | undefined {
  if (!isObject(payload)) return undefined
  const { Add: added, Remove: removed, PinAdded: pin, type, cid } = payload
  if (isObject(added)) return nameFact(added['name'], added['cid'], added['public'] === false)
  if (isObject(removed)) return nameFact(removed['name'], undefined, false)
  if (isObject(pin)) return queryFact(pin, timestamp)
  const parsed = typeof cid === 'string' ? parseCid(cid) : undefined
  if (parsed === undefined) return undefined
  if (type === 'fileAdded' || type === 'directoryAdded') return { kind: 'upload', cid: String(parsed), isPinned: true }
  return type === 'removed' ? { kind: 'upload', cid: String(parsed), isPinned: false } : undefined
}

/**
 * The key of an event in the total order: the copy of a fact has that of its original. A copy counts
 * only if its original is an earlier event of the same node.
 */
export function keyOf({ lamport, stream, payload }: Omit<FileEvent, 'timestamp' | 'offset'>): EventKey {
  const original = isObject(payload) ? payload['copyOf'] : undefined
  if (!isObject(original)) return { lamport, stream }
  const { lamport: earlier, stream: other } = original
  const isValid =
    Number.isSafeInteger(earlier) &&
    (earlier as number) >= 0 &&
    (earlier as number) < lamport &&
    typeof other === 'string' &&
    nodeOf(other) !== undefined &&
    nodeOf(other) === nodeOf(stream)
  return isValid ? { lamport: earlier as number, stream: other } : { lamport, stream }
}

function nodeOf(stream: string): string | undefined {
  return /^(.{43})-[0-9]{1,15}$/.exec(stream)?.[1]
}

/** A name with the form of a CID is ignored: it could never be looked up. */
function nameFact(name: unknown, cid: unknown, isPrivate: boolean): Fact | undefined {
  if (typeof name !== 'string' || parseCid(name) !== undefined) return undefined
  if (cid === undefined) return { kind: 'name', name, cid }
  return typeof cid === 'string' && parseCid(cid) !== undefined ? { kind: 'name', name, cid, isPrivate } : undefined
}

function queryFact({ app_id: app, query, duration }: Members, timestamp: number): Fact | undefined {
  if (typeof app !== 'string' || typeof query !== 'string' || !isObject(duration)) return undefined
  const until = timestamp / 1000 + Number(duration['secs'] ?? 0) * 1000 + Number(duration['nanos'] ?? 0) / 1e6
  return Number.isFinite(until) ? { kind: 'query', app, query, until } : undefined
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
