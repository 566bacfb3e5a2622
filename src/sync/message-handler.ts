import { limits } from '../base/limits.ts'
import { fullHead } from '../protocol/index.ts'
import type { Answers } from './answers.ts'
import type { Effect } from './effects.ts'
import type { Liveness } from './liveness.ts'
import type {
  BucketsMessage,
  DigestMessage,
  HeadsMessage,
  Hello,
  Message,
  NothingReason,
  OwnHeads,
} from './messages.ts'
import type { OutcomeParts } from './outcomes.ts'
import type { Peer } from './peer.ts'
import { type SyncState, send } from './sync-state.ts'

interface Parts extends OutcomeParts {
  readonly answers: Answers
  readonly liveness: Liveness
}

/** The feature of nodes that take `bulk-push`; older ones do not know it. */
export const bulkPushFeature = 'bulk-push'

/** What follows from a message of a peer. */
export class MessageHandler {
  readonly #state: SyncState
  readonly #parts: Parts

  constructor(state: SyncState, parts: Parts) {
    this.#state = state
    this.#parts = parts
  }

  handle(peer: Peer, message: Message, now: number): Effect[] {
    if (message.is === 'hello') return this.#greeted(peer, message, now)
    // What comes before the hello is of a peer that does not follow the protocol.
    if (!peer.isReady) return this.#parts.close(peer.name, 'malformedMessage', now)
    const { requests } = this.#state
    switch (message.is) {
      case 'neighbours':
        this.#parts.spread.neighbours(peer, message)
        return []
      case 'digest':
        return this.#compared(peer, message)
      case 'buckets':
        return this.#comparedBuckets(peer, message)
      case 'heads':
        return this.#claimed(peer, message, now)
      case 'want':
      case 'want-records':
      case 'want-evidence':
      case 'locate':
        return this.#parts.answers.start(peer, message) ?? this.#parts.close(peer.name, 'tooManyRequests', now)
      case 'chunk': {
        const request = requests.get(peer.name, message.id, 'events')
        // An answer to a request that has timed out is not an error.
        if (request === undefined) return []
        requests.extend(request, now)
        const { id: want, more, chunk } = message
        return [{ do: 'store', from: peer.name, want, more, chunk }]
      }
      case 'nothing':
        return this.#nothing(peer, message.id, message.reason, now)
      case 'push':
      case 'bulk-push': {
        const { catchUp } = this.#parts
        const claimed = catchUp.claimPushed(peer, message.chunk, now)
        const store = { do: 'store', from: peer.name, want: undefined, more: false, chunk: message.chunk } as const
        return [...claimed, store, ...catchUp.ask(now)]
      }
      case 'records':
        if (message.id !== 0 && requests.get(peer.name, message.id) === undefined) return []
        return [{ do: 'apply-records', from: peer.name, records: message }]
      case 'evidence': {
        const request = requests.get(peer.name, message.id, 'evidence')
        const stream = request && peer.claims.get(request.name)?.stream
        if (stream === undefined) return []
        return [{ do: 'apply-evidence', from: peer.name, want: message.id, stream, record: message.record }]
      }
      case 'located': {
        const request = requests.get(peer.name, message.id, 'fork')
        return request === undefined ? [] : this.#parts.forkSearches.located(request, message.count, now)
      }
      case 'stored':
        this.#parts.reports.peerStored(peer, message)
        return []
      case 'ping':
        return [send(peer.name, { is: 'pong', id: message.id })]
      case 'pong':
        this.#parts.liveness.pong(peer, message, now)
        return []
      case 'want-own':
        return this.#parts.spread.ownHeadsTo(peer)
      case 'own-heads':
        return this.#comparedOwn(peer, message, now)
      case 'addresses':
        return [{ do: 'learned-addresses', peer: peer.name, nodes: message.nodes }]
    }
  }

  #greeted(peer: Peer, { features, required, time }: Hello, now: number): Effect[] {
    const unknown = required.filter((feature) => feature !== bulkPushFeature)
    if (unknown.length > 0) {
      const report = { do: 'report', is: 'unknown-features', features: unknown, peer: peer.name } as const
      return [report, ...this.#parts.close(peer.name, 'unknownRequiredFeature', now)]
    }
    if (peer.isReady) return []
    peer.isReady = true
    peer.takesBulk = features.includes(bulkPushFeature)
    peer.clockAhead = time - this.#state.options.wallClock()
    const told = this.#parts.spread.greeted(peer, now)
    return [told, this.#parts.reports.digestTo(peer.name), ...this.#parts.reports.askOwn(peer.name)]
  }

  /** A peer says all that it has of the own streams. */
  #comparedOwn(peer: Peer, { entries }: OwnHeads, now: number): Effect[] {
    const { catchUp } = this.#parts
    const { topic, isInDoubt } = this.#state.options
    const claimed = catchUp.claims(peer, entries, now)
    if (!isInDoubt()) return [...claimed, ...catchUp.ask(now)]
    const heads = entries.flatMap((entry) => (entry.isFrozen ? [] : [fullHead(entry.head, topic)]))
    return [...claimed, { do: 'compare-own', from: peer.name, heads, areAll: true }, ...catchUp.ask(now)]
  }

  #compared(peer: Peer, { digest, time }: DigestMessage): Effect[] {
    const { table, options } = this.#state
    peer.clockAhead = time - options.wallClock()
    peer.digest = digest
    if (peer.leavesOut(!peer.takesComparisons)) return []
    peer.hasSameHeads = Buffer.compare(digest, table.digest()) === 0
    if (peer.hasSameHeads) return []
    return [send(peer.name, { is: 'buckets', digests: table.buckets() })]
  }

  #comparedBuckets(peer: Peer, { digests }: BucketsMessage): Effect[] {
    if (peer.leavesOut(!peer.takesComparisons)) return []
    const differing = this.#state.table.differing(digests)
    return differing.length === 0 ? [] : this.#parts.spread.headsTo(peer.name, differing, differing)
  }

  #claimed(peer: Peer, { entries, answer }: HeadsMessage, now: number): Effect[] {
    const { catchUp, spread } = this.#parts
    const claimed = catchUp.claims(peer, entries, now)
    const isAnswered = answer.length > 0 && !peer.leavesOut(!peer.takesComparisons) && this.#state.peers.has(peer.name)
    return [...claimed, ...(isAnswered ? spread.headsTo(peer.name, answer, []) : []), ...catchUp.ask(now)]
  }

  #nothing(peer: Peer, id: number, reason: NothingReason, now: number): Effect[] {
    const request = this.#state.requests.get(peer.name, id)
    if (request === undefined) return []
    this.#parts.forkSearches.close(request)
    const claim = peer.claims.get(request.name)
    if (claim?.isFrozen === true && request.kind !== 'evidence') {
      const prefix = reason === 'pruned' && !claim.areRecordsFetched ? 'pruned' : 'fetched'
      this.#state.changeClaim(peer.name, request.name, { prefix })
      this.#parts.catchUp.lookAgain(request.name)
      return this.#parts.catchUp.ask(now)
    }
    // The peer has other frames there, so the two chains differ before.
    if (reason === 'notABorder' && request.kind === 'events' && !request.isForkSearch)
      return this.#parts.forkSearches.start(peer, request.name, now)
    if (reason === 'pruned') this.#state.changeClaim(peer.name, request.name, { areRecordsFetched: false })
    this.#parts.catchUp.askLater(
      peer.name,
      request.name,
      now,
      request.isForkSearch ? limits.forkSearchRetryMs : undefined,
    )
    return this.#parts.catchUp.ask(now)
  }
}
