import { limits } from '../base/limits.ts'
import { heads, signedHeadOf } from '../protocol/index.ts'
import { nameOfStream } from '../replication/index.ts'
import type { Effect, ReadResult } from './effects.ts'
import type { Locate, Message, Records, Want, WantEvidence, WantRecords } from './messages.ts'
import type { Peer } from './peer.ts'
import { type SyncState, send } from './sync-state.ts'

/** Answers the requests of peers, a bounded number at a time. */
export class Answers {
  readonly #state: SyncState
  /** Requests of a peer since its last answer that were beyond the limit, or repeated before they were answered. */
  readonly #excess = new WeakMap<Peer, number>()

  constructor(state: SyncState) {
    this.#state = state
  }

  /** Undefined when the peer ignores the limit of requests. */
  start(peer: Peer, request: Want | WantRecords | WantEvidence | Locate): Effect[] | undefined {
    const { id, stream } = request
    if (this.#state.isHidden(stream)) return [send(peer.name, { is: 'nothing', id, reason: 'notHere' })]
    if (this.#excessOf(peer) >= limits.excessRequests) return undefined
    // An honest peer behind a slow link may ask for more than it waits for: it asks again later.
    if (peer.serving >= limits.servedPerPeer) return this.#refuse(peer, id)
    peer.serving++
    // What it was sent has not arrived, or could not be stored: it is sent no more than its head until it has caught up.
    if (request.is === 'want') peer.sentUpTo.delete(nameOfStream(stream))
    const read = { peer: peer.name, id, stream }
    switch (request.is) {
      case 'want':
        return [{ do: 'read', ...read, from: request.from, bytes: Math.min(request.bytes, limits.servedBytes) }]
      case 'want-records':
        return [{ do: 'read-records', ...read, from: request.from, to: request.to }]
      case 'want-evidence':
        return [{ do: 'read-evidence', ...read }]
      case 'locate':
        return [{ do: 'find-common', ...read, points: request.points }]
    }
  }

  /** A request of a peer was repeated before it was answered. */
  superseded(name: string, id: number): Effect[] {
    const peer = this.#take(name)
    return peer === undefined ? [] : this.#refuse(peer, id)
  }

  events(name: string, id: number, result: ReadResult): Effect[] {
    if (!this.#end(name)) return []
    if ('nothing' in result) return [send(name, { is: 'nothing', id, reason: result.nothing })]
    const { chunks } = result
    this.#noteSent(name, chunks.at(-1)?.chunk)
    const messages = chunks.flatMap(({ records, chunk }, i): Message[] => [
      ...records.map((part) => ({ is: 'records' as const, id, ...part })),
      { is: 'chunk', id, more: i + 1 < chunks.length, chunk },
    ])
    return messages.map((message) => send(name, message))
  }

  /** New own events that follow an answer are pushed. */
  #noteSent(name: string, last: Uint8Array | undefined): void {
    if (last === undefined) return
    const { stream, count } = heads.decode(signedHeadOf(last))
    if (this.#state.isOwn(stream)) this.#state.peers.get(name)?.sentUpTo.set(nameOfStream(stream), count)
  }

  records(name: string, id: number, records: Records | undefined): Effect[] {
    return this.#answer(name, id, records && { is: 'records', id, ...records })
  }

  evidence(name: string, id: number, record: Uint8Array | undefined): Effect[] {
    return this.#answer(name, id, record && { is: 'evidence', id, record })
  }

  /** Answers with a message; with nothing when there is none. */
  #answer(name: string, id: number, message: Message | undefined): Effect[] {
    return this.#end(name) ? [send(name, message ?? { is: 'nothing', id, reason: 'notHere' })] : []
  }

  common(name: string, id: number, count: number): Effect[] {
    return this.#end(name) ? [send(name, { is: 'located', id, count })] : []
  }

  /** Ends a request with its answer. Returns whether the peer still waits. */
  #end(name: string): boolean {
    const peer = this.#take(name)
    if (peer !== undefined) this.#excess.delete(peer)
    return peer !== undefined
  }

  /** Ends a request. Undefined when none is open: the peer has connected again since it asked. */
  #take(name: string): Peer | undefined {
    const peer = this.#state.peers.get(name)
    if (peer === undefined || peer.serving === 0) return undefined
    peer.serving--
    return peer
  }

  #excessOf(peer: Peer): number {
    return this.#excess.get(peer) ?? 0
  }

  #refuse(peer: Peer, id: number): Effect[] {
    this.#excess.set(peer, this.#excessOf(peer) + 1)
    return [send(peer.name, { is: 'nothing', id, reason: 'notHere' })]
  }
}
