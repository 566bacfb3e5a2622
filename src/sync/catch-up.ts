import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import { shortHead, signedHeadOf } from '../protocol/index.ts'
import { nameOfStream, nodeOfStreamName } from '../replication/index.ts'
import { type Claim, claimOfHead, type KnownHead } from './claim.ts'
import type { Effect } from './effects.ts'
import { isVerified } from './known-heads.ts'
import { latin1Of } from './latin1.ts'
import type { HeadEntry } from './messages.ts'
import { nextStep, type Step } from './next-step.ts'
import type { Peer } from './peer.ts'
import type { Request } from './requests.ts'
import { Schedule } from './schedule.ts'
import { type SyncState, send } from './sync-state.ts'

/** What `CatchUp` cannot do itself. */
export interface CatchUpActions {
  /** Starts the search for a fork between the chain of a peer and the own one. */
  startForkSearch(peer: Peer, name: string, now: number): Effect[]
  /** Disconnects a peer with a wrong head. */
  closeBadHead(peer: Peer, now: number): Effect[]
}

/** A peer that has something of a stream, and what to ask it for. */
interface Source {
  readonly peer: Peer
  readonly claim: Claim
  readonly step: Step
}

/** Asks peers for what they have and this node has not. */
export class CatchUp {
  readonly #state: SyncState
  /** Streams of which something has changed since they were looked at. */
  readonly #changed = new Set<string>()
  /** By peer: streams for which it can be asked as soon as it has room for another request. */
  readonly #blocked = new Map<string, Set<string>>()
  /** When streams are looked at again, because a peer may be asked then. */
  readonly #schedule = new Schedule()
  /** The number of closed requests when the blocked streams were looked at. */
  #closedRequests = 0
  readonly #actions: CatchUpActions

  constructor(state: SyncState, actions: CatchUpActions) {
    this.#state = state
    this.#actions = actions
    state.requests.onClose = ({ name }) => this.#changed.add(name)
  }

  /** When a peer that had nothing to send may be asked again. */
  get wakeAt(): number {
    return this.#schedule.next
  }

  /** A peer says what it has of streams. The rest is ignored once it is disconnected because of one of them. */
  claims(peer: Peer, entries: readonly HeadEntry[], now: number): Effect[] {
    const effects: Effect[] = []
    for (const entry of entries) {
      effects.push(...this.#claim(peer, entry, now))
      if (this.#state.peers.get(peer.name) !== peer) break
    }
    return effects
  }

  #claim(peer: Peer, entry: HeadEntry, now: number): Effect[] {
    if (entry.isFrozen) {
      const name = nameOfStream(entry.stream)
      const before = peer.claims.get(name)
      this.#keep(peer, name, {
        stream: entry.stream,
        isFrozen: true,
        count: 0,
        pruned: 0,
        hash: undefined,
        records: undefined,
        head: undefined,
        askFrom: 0,
        areRecordsFetched: before?.isFrozen === true && before.areRecordsFetched,
        prefix: before?.isFrozen === true ? before.prefix : 'wanted',
      })
      return []
    }
    const { pruned, records } = entry
    return this.#claimHead(peer, entry.head, { pruned, records: latin1Of(records) }, now)
  }

  /** A peer has sent events, so it has them. */
  claimSent(peer: Peer, chunk: Uint8Array, now: number): Effect[] {
    return this.#claimHead(peer, this.#shortHeadOf(chunk), undefined, now)
  }

  /** A peer has pushed events, which are given to the store: they are not asked for meanwhile. */
  claimPushed(peer: Peer, chunk: Uint8Array, now: number): Effect[] {
    const effects = this.claimSent(peer, chunk, now)
    const name = this.#nameOf(chunk)
    peer.pushes.set(name, (peer.pushes.get(name) ?? 0) + 1)
    return effects
  }

  /** The store has answered to pushed events. After the last ones, what is still missing is asked for at once. */
  pushStored(peer: string, chunk: Uint8Array): void {
    const pushes = this.#state.peers.get(peer)?.pushes
    const name = this.#nameOf(chunk)
    const left = (pushes?.get(name) ?? 0) - 1
    if (left > 0) pushes?.set(name, left)
    else if (pushes?.delete(name) === true) this.#state.changeClaim(peer, name, { askFrom: 0 })
  }

  #shortHeadOf(chunk: Uint8Array): Uint8Array {
    return shortHead(signedHeadOf(chunk), this.#state.options.topic)
  }

  #nameOf(chunk: Uint8Array): string {
    return this.#state.knownHeads.of(this.#shortHeadOf(chunk)).name
  }

  #claimHead(
    peer: Peer,
    short: Uint8Array,
    said: Pick<Claim, 'pruned' | 'records'> | undefined,
    now: number,
  ): Effect[] {
    const head = this.#state.knownHeads.of(short)
    const { stream, name, count, hash } = head
    const before = peer.claims.get(name)
    const { pruned, records } = said ?? { pruned: before?.pruned ?? 0, records: undefined }
    // Comparisons repeat the heads of all streams in a bucket. Own streams are looked at below.
    if (said !== undefined && isRepeated(before, head, said) && !this.#state.isOwn(stream)) return []
    const isPushing = peer.pushes.has(name)
    const { askFrom = 0 } = before ?? {}
    const isSame = before !== undefined && before.count === count && before.hash === hash
    const claim = claimOfHead(head, {
      pruned,
      records,
      // Pushed events are not asked for while they are being stored.
      askFrom: said === undefined ? now + limits.wantRetryMs : isSame || isPushing ? askFrom : 0,
      areRecordsFetched: isSame && before.records === records && before.pruned === pruned && before.areRecordsFetched,
      prefix: 'wanted',
    })
    this.#keep(peer, name, claim)
    return this.#state.isOwn(stream) ? this.#claimedOwn(peer, head, before, now) : []
  }

  /** A peer has said what it has of an own stream. */
  #claimedOwn(peer: Peer, head: KnownHead, before: Claim | undefined, now: number): Effect[] {
    const { stream, name, count } = head
    const row = this.#state.table.get(name)
    if (row?.frozen === true) return []
    if (count > (row?.count ?? 0)) {
      // Reported once, and only if this node has signed it.
      if (this.#state.options.isInDoubt() || before?.head === head) return []
      if (!isVerified(head)) return this.#actions.closeBadHead(peer, now)
      return [
        { do: 'report', is: 'own-stream-ahead', stream, peer: peer.name },
        { do: 'compare-own', from: peer.name, heads: [head.signed], areAll: false },
      ]
    }
    peer.stored.set(stream.number, Math.max(count, peer.stored.get(stream.number) ?? 0))
    return []
  }

  #keep(peer: Peer, name: string, claim: Claim): void {
    if (!peer.claims.has(name) && peer.claims.size >= format.streamsPerTopic) return
    peer.claims.set(name, claim)
    const isNews = nextStep(claim, this.#state.table.get(name), this.#whose(name, peer)) !== undefined
    if (isNews && !this.#state.requests.isBusy(name)) this.#changed.add(name)
  }

  /** The stream is looked at again, because something of it has changed. */
  lookAgain(name: string): void {
    this.#changed.add(name)
  }

  /** A peer may be asked for a stream at once. */
  askNow(peer: string, name: string): void {
    this.#state.changeClaim(peer, name, { askFrom: 0 })
    this.#changed.add(name)
  }

  /** A peer is not asked for a stream for a while. */
  askLater(peer: string, name: string, now: number, ms: number = limits.wantRetryMs): void {
    this.#state.changeClaim(peer, name, { askFrom: now + ms })
    this.#changed.add(name)
  }

  /** Ends a request, and leaves its peer alone for a while. */
  giveUp(request: Request, now: number, ms?: number): void {
    this.#state.requests.close(request)
    this.askLater(request.peer, request.name, now, ms)
  }

  /** A peer is gone. */
  disconnected(peer: string): void {
    this.#blocked.delete(peer)
  }

  /** Asks for all that can be asked for now. Looks only at the streams for which that may have changed. */
  ask(now: number): Effect[] {
    for (const name of this.#schedule.take(now)) this.#changed.add(name)
    const effects: Effect[] = []
    for (const name of this.#changed) {
      this.#changed.delete(name)
      effects.push(...this.#look(name, now))
    }
    const { closed } = this.#state.requests
    if (closed === this.#closedRequests) return effects
    this.#closedRequests = closed
    return [...effects, ...this.#askBlocked(now)]
  }

  /** Requests have ended: asks for streams that have waited for that. */
  #askBlocked(now: number): Effect[] {
    const { requests } = this.#state
    const effects: Effect[] = []
    for (const [peer, names] of this.#blocked)
      for (const name of names) {
        if (!requests.hasRoomFor(peer)) break
        names.delete(name)
        effects.push(...this.#look(name, now))
      }
    return effects
  }

  /** Asks for a stream if that is possible, or notes what it waits for. One with a request waits for its end. */
  #look(name: string, now: number): Effect[] {
    const { requests } = this.#state
    if (requests.isBusy(name)) return []
    let best: Source | undefined
    let next = Number.POSITIVE_INFINITY
    for (const source of this.#sources(name)) {
      const { peer, claim } = source
      if (claim.askFrom > now) next = Math.min(next, claim.askFrom)
      else if (!requests.hasRoomFor(peer.name)) this.#block(peer.name, name)
      else if (best === undefined || requests.countOf(peer.name) < requests.countOf(best.peer.name)) best = source
    }
    if (best !== undefined) return this.#start(best, name, now)
    if (next < Number.POSITIVE_INFINITY) this.#schedule.add(name, next)
    return []
  }

  #block(peer: string, name: string): void {
    const names = this.#blocked.get(peer)
    if (names === undefined) this.#blocked.set(peer, new Set([name]))
    else names.add(name)
  }

  /** The peers that have something of a stream which is not here. */
  #sources(name: string): Source[] {
    const row = this.#state.table.get(name)
    const sources: Source[] = []
    for (const peer of this.#state.peers.values()) {
      const claim = peer.isReady ? peer.claims.get(name) : undefined
      const step = claim && nextStep(claim, row, this.#whose(name, peer))
      if (claim !== undefined && step !== undefined) sources.push({ peer, claim, step })
    }
    return sources
  }

  #whose(name: string, peer: Peer): 'own' | 'theirs' | 'other' {
    const { ownName, options } = this.#state
    const node = nodeOfStreamName(name)
    if (node === ownName) return options.isInDoubt() ? 'other' : 'own'
    return node === peer.name ? 'theirs' : 'other'
  }

  #start({ peer, claim, step }: Source, name: string, now: number): Effect[] {
    const { requests } = this.#state
    if (claim.head !== undefined && !isVerified(claim.head)) return this.#actions.closeBadHead(peer, now)
    const { stream } = claim
    if (step.want === 'fork') return this.#searchFork(peer, name, now)
    const from = step.want === 'evidence' ? 0 : step.from
    const { id } = requests.open({ peer: peer.name, name, kind: step.want, from }, now)
    if (step.want === 'evidence') return [send(peer.name, { is: 'want-evidence', id, stream })]
    if (step.want === 'records') return [send(peer.name, { is: 'want-records', id, stream, from, to: step.to })]
    return [send(peer.name, { is: 'want', id, stream, from, bytes: tuning.wantBytes })]
  }

  /** A peer with the same heads has none of other events: what it has said is outdated. */
  #searchFork(peer: Peer, name: string, now: number): Effect[] {
    const { digest } = peer
    if (digest === undefined || Buffer.compare(digest, this.#state.table.digest()) !== 0)
      return this.#actions.startForkSearch(peer, name, now)
    peer.claims.delete(name)
    return []
  }
}

/** Whether a peer says what it has said before. */
function isRepeated(before: Claim | undefined, head: KnownHead, said: Pick<Claim, 'pruned' | 'records'>): boolean {
  return before?.head === head && before.pruned === said.pruned && before.records === said.records
}
