import type { FactPlace } from '../facts/index.ts'
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

/** A fact with its place among the facts about the same. */
export interface KeyedFact extends FactPlace {
  readonly fact: Fact
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
