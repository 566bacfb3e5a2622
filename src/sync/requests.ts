import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'

/** A request to a peer about a stream. */
export interface Request {
  readonly id: number
  readonly peer: string
  /** The name of the stream. */
  readonly name: string
  /** What is asked for: events, records, evidence of a fork, or points of a chain, to find a fork. */
  readonly kind: 'events' | 'records' | 'evidence' | 'fork'
  /** The first offset that is asked for. */
  readonly from: number
  /** Set if the events are to show a fork. */
  readonly isForkSearch: boolean
  /** When it is given up, unless a part of the answer arrives. */
  deadline: number
  /** When it is given up in any case. */
  readonly lastDeadline: number
}

/** The open requests. There is at most one per stream, so that nothing is fetched twice. */
export class Requests {
  readonly #open = new Map<number, Request>()
  readonly #perPeer = new Map<string, number>()
  readonly #busy = new Set<string>()
  #last = 0
  #closed = 0
  /** Called when a request has ended. */
  onClose: (request: Request) => void = () => {}

  /** The number of requests that have ended. */
  get closed(): number {
    return this.#closed
  }

  open(request: Pick<Request, 'peer' | 'name' | 'kind' | 'from'> & { isForkSearch?: boolean }, now: number): Request {
    assert(!this.#busy.has(request.name), 'a stream has one open request')
    const [deadline, lastDeadline] = [now + limits.wantTimeoutMs, now + limits.longestWantMs]
    const opened = { isForkSearch: false, ...request, id: ++this.#last, deadline, lastDeadline }
    this.#open.set(opened.id, opened)
    this.#busy.add(request.name)
    this.#perPeer.set(request.peer, this.countOf(request.peer) + 1)
    return opened
  }

  /** The request of this ID, if it was sent to this peer and is still open. */
  get(peer: string, id: number | undefined, kind?: Request['kind']): Request | undefined {
    const request = id === undefined ? undefined : this.#open.get(id)
    return request?.peer === peer && (kind === undefined || request.kind === kind) ? request : undefined
  }

  close(request: Request): void {
    if (!this.#open.delete(request.id)) return
    this.#busy.delete(request.name)
    const left = this.countOf(request.peer) - 1
    if (left === 0) this.#perPeer.delete(request.peer)
    else this.#perPeer.set(request.peer, left)
    this.#closed++
    this.onClose(request)
  }

  /** A part of the answer has arrived. Returns false when the request is given up nevertheless. */
  extend(request: Request, now: number): boolean {
    request.deadline = Math.min(now + limits.wantTimeoutMs, request.lastDeadline)
    return request.deadline > now
  }

  /** A part of any answer of a peer has arrived. */
  extendAll(peer: string, now: number): void {
    for (const request of this.#open.values()) if (request.peer === peer) this.extend(request, now)
  }

  /** This node itself stood still until now: answers may have arrived meanwhile. */
  stalled(now: number): void {
    for (const request of this.#open.values()) this.extend(request, now)
  }

  isBusy(name: string): boolean {
    return this.#busy.has(name)
  }

  countOf(peer: string): number {
    return this.#perPeer.get(peer) ?? 0
  }

  /** Whether a peer may be asked for more: answers take memory. */
  hasRoomFor(peer: string): boolean {
    return this.countOf(peer) < tuning.wantsPerPeer && this.#open.size < limits.wantsInAll
  }

  ofStream(name: string): Request | undefined {
    return this.#busy.has(name) ? [...this.#open.values()].find((request) => request.name === name) : undefined
  }

  ofPeer(peer: string): Request[] {
    return [...this.#open.values()].filter((request) => request.peer === peer)
  }

  expired(now: number): Request[] {
    return [...this.#open.values()].filter(({ deadline }) => deadline <= now)
  }

  get nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { deadline } of this.#open.values()) next = Math.min(next, deadline)
    return next
  }
}
