import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import type { Effect } from './effects.ts'
import type { ChainPoint } from './messages.ts'
import type { Peer } from './peer.ts'
import type { Request } from './requests.ts'
import { type SyncState, send } from './sync-state.ts'

interface Dispute {
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
export class Disputes {
  readonly #state: SyncState
  /** By request. */
  readonly #open = new Map<Request, Dispute>()

  constructor(state: SyncState) {
    this.#state = state
  }

  start(peer: Peer, name: string, now: number): Effect[] {
    const row = this.#state.table.get(name)
    if (row === undefined) return []
    const { pruned: low, count: high } = row
    const request = this.#state.requests.open({ peer: peer.name, name, kind: 'parting', from: low }, now)
    this.#open.set(request, { low, high, points: [] })
    return [this.#list(request, { low, high })]
  }

  /** The own checkpoints in the range were listed. */
  listed(request: Request, points: readonly ChainPoint[], now: number): Effect[] {
    const dispute = this.#open.get(request)
    const row = this.#state.table.get(request.name)
    if (dispute === undefined || row === undefined) return []
    dispute.points = points
    this.#state.requests.extend(request, now)
    if (points.length === 0) return this.want(request, dispute.low, now)
    return [send(request.peer, { is: 'locate', id: request.id, stream: row.key, points })]
  }

  /** The peer says which of the points is the last common one. */
  located(request: Request, count: number, now: number): Effect[] {
    const dispute = this.#open.get(request)
    if (dispute === undefined) return []
    const common = dispute.points.findLast((point) => point.count <= count)?.count ?? dispute.low
    const next = dispute.points.find((point) => point.count > common)?.count ?? dispute.high + 1
    Object.assign(dispute, { low: common, high: next - 1 })
    this.#state.requests.extend(request, now)
    return [this.#list(request, dispute)]
  }

  /** Asks for the events after a common point, with a new request. */
  want(request: Request, from: number, now: number): Effect[] {
    this.close(request)
    const { peer, name } = request
    const stream = this.#state.table.get(name)?.key
    if (stream === undefined) return []
    const { id } = this.#state.requests.open({ peer, name, kind: 'events', from, isDispute: true }, now)
    return [send(peer, { is: 'want', id, stream, from, bytes: tuning.wantBytes })]
  }

  close(request: Request): void {
    this.#open.delete(request)
    this.#state.requests.close(request)
  }

  #list({ id, peer, name }: Request, { low, high }: Pick<Dispute, 'low' | 'high'>): Effect {
    const row = this.#state.table.get(name)
    if (row === undefined) throw new Error('a disputed stream is known')
    return { do: 'list-points', peer, id, stream: row.key, from: low, to: high }
  }
}

/** Of some checkpoints, as many as may be asked about at once: evenly spread, with the last one. */
export function spreadPoints<T>(points: readonly T[], most: number = limits.pointsPerLocate): T[] {
  if (points.length <= most) return [...points]
  return Array.from({ length: most }, (_, i) => points[Math.ceil(((i + 1) * points.length) / most) - 1] as T)
}
