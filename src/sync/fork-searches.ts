import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import type { Effect } from './effects.ts'
import type { ChainPoint } from './messages.ts'
import type { Peer } from './peer.ts'
import type { Request } from './requests.ts'
import { type SyncState, send } from './sync-state.ts'

interface ForkSearch {
  /** The last count that is known to be common. */
  low: number
  /** The last count that may be common. */
  high: number
  /** The points that the peer was asked about. */
  points: readonly ChainPoint[]
}

/**
 * Finds the last common checkpoint of two chains of one stream, by asking about a few points at a time, and asks for the
 * events after it: they show that the node of the stream has forked it.
 */
export class ForkSearches {
  readonly #state: SyncState
  /** By request. */
  readonly #open = new Map<Request, ForkSearch>()

  constructor(state: SyncState) {
    this.#state = state
  }

  start(peer: Peer, name: string, now: number): Effect[] {
    const row = this.#state.table.get(name)
    if (row === undefined) return []
    const { pruned: low, count: high } = row
    const request = this.#state.requests.open({ peer: peer.name, name, kind: 'fork', from: low }, now)
    this.#open.set(request, { low, high, points: [] })
    return [this.#list(request, { low, high })]
  }

  /** The own checkpoints in the range were listed. */
  listed(request: Request, points: readonly ChainPoint[], now: number): Effect[] {
    const search = this.#open.get(request)
    const row = this.#state.table.get(request.name)
    if (search === undefined || row === undefined) return []
    search.points = points
    this.#state.requests.extend(request, now)
    if (points.length === 0) return this.want(request, search.low, now)
    return [send(request.peer, { is: 'locate', id: request.id, stream: row.key, points })]
  }

  /** The peer says which of the points is the last common one. */
  located(request: Request, count: number, now: number): Effect[] {
    const search = this.#open.get(request)
    assert(search !== undefined, 'an open request for a fork has a search')
    const common = search.points.findLast((point) => point.count <= count)?.count ?? search.low
    const next = search.points.find((point) => point.count > common)?.count ?? search.high + 1
    Object.assign(search, { low: common, high: next - 1 })
    this.#state.requests.extend(request, now)
    return [this.#list(request, search)]
  }

  /** Asks for the events after a common point, with a new request. */
  want(request: Request, from: number, now: number): Effect[] {
    this.close(request)
    const { peer, name } = request
    const stream = this.#state.table.get(name)?.key
    if (stream === undefined) return []
    const { id } = this.#state.requests.open({ peer, name, kind: 'events', from, isForkSearch: true }, now)
    return [send(peer, { is: 'want', id, stream, from, bytes: tuning.wantBytes })]
  }

  close(request: Request): void {
    this.#open.delete(request)
    this.#state.requests.close(request)
  }

  #list({ id, peer, name }: Request, { low, high }: Pick<ForkSearch, 'low' | 'high'>): Effect {
    const row = this.#state.table.get(name)
    if (row === undefined) throw new Error('a searched stream is known')
    return { do: 'list-points', peer, id, stream: row.key, from: low, to: high }
  }
}

/** Of some checkpoints, as many as may be asked about at once: evenly spread, with the last one. */
export function spreadPoints<T>(points: readonly T[], most: number = limits.pointsPerLocate): T[] {
  if (points.length <= most) return [...points]
  return Array.from({ length: most }, (_, i) => points[Math.ceil(((i + 1) * points.length) / most) - 1] as T)
}
