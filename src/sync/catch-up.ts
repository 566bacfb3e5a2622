import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'
import { fullHead, heads, MalformedBytes, type StreamKey, shortHead, signedHeadOf } from '../protocol/index.ts'
import { nameOfStream } from '../replication/index.ts'
import type { Effect } from './effects.ts'
import type { HeadEntry } from './messages.ts'
import { nextStep, type Step } from './next-step.ts'
import { type Claim, nameOfNode, type Peer } from './peer.ts'
import type { Request } from './requests.ts'
import { type SyncState, send } from './sync-state.ts'

/** What `CatchUp` cannot do itself. */
export interface CatchUpActions {
  /** Starts to look for the place where the chain of a peer and the own one have parted. */
  startParting(peer: Peer, name: string, now: number): Effect[]
  /** Disconnects a peer with a wrong head. */
  closeBadHead(peer: Peer, now: number): Effect[]
}

/** Asks peers for what they have and this node has not. */
export class CatchUp {
  readonly #state: SyncState
  /** The streams of which a peer may have something. */
  readonly #behind = new Set<string>()
  readonly #actions: CatchUpActions

  constructor(state: SyncState, actions: CatchUpActions) {
    this.#state = state
    this.#actions = actions
  }

  /** When a peer that had nothing to send may be asked again. */
  get wakeAt(): number {
    let at = Number.POSITIVE_INFINITY
    for (const name of this.#behind)
      if (!this.#state.requests.isBusy(name))
        for (const { peer, claim } of this.#sources(name))
          if (this.#state.requests.hasRoomFor(peer.name)) at = Math.min(at, claim.askFrom)
    return at
  }

  /** A peer says what it has of a stream. */
  claim(peer: Peer, entry: HeadEntry, now: number): Effect[] {
    if (entry.isFrozen) {
      this.#keep(peer, nameOfStream(entry.stream), {
        stream: entry.stream,
        isFrozen: true,
        count: 0,
        pruned: 0,
        hash: undefined,
        records: undefined,
        signed: undefined,
        isVerified: true,
        askFrom: now,
        areRecordsKnown: false,
      })
      return []
    }
    const { pruned, records } = entry
    return this.#claimHead(peer, entry.head, { pruned, records: Buffer.from(records).toString('latin1') }, now)
  }

  /** A peer has sent events, so it has them. */
  claimPushed(peer: Peer, chunk: Uint8Array, now: number): Effect[] {
    const short = shortHead(signedHeadOf(chunk), this.#state.options.topic)
    return this.#claimHead(peer, short, undefined, now)
  }

  #claimHead(
    peer: Peer,
    short: Uint8Array,
    said: Pick<Claim, 'pruned' | 'records'> | undefined,
    now: number,
  ): Effect[] {
    const { topic, isInDoubt } = this.#state.options
    const signed = fullHead(short, topic)
    const { stream, count, hash } = heads.decode(signed)
    const name = nameOfStream(stream)
    const before = peer.claims.get(name)
    const { pruned, records } = said ?? { pruned: before?.pruned ?? 0, records: undefined }
    const isSame = before !== undefined && before.count === count && before.hash === hash
    this.#keep(peer, name, {
      stream,
      isFrozen: false,
      count,
      pruned,
      hash,
      records,
      signed,
      isVerified: false,
      // Pushed events are not asked for while they are being stored.
      askFrom: said === undefined ? now + limits.wantRetryMs : isSame ? before.askFrom : now,
      areRecordsKnown: isSame && before.records === records && before.pruned === pruned && before.areRecordsKnown,
    })
    if (!this.#state.isOwn(stream)) return []
    const own = this.#state.countOf(name)
    if (count > own) return isInDoubt() ? [] : [{ do: 'report', is: 'own-stream-ahead', stream, peer: peer.name }]
    peer.stored.set(stream.number, Math.max(count, peer.stored.get(stream.number) ?? 0))
    return []
  }

  #keep(peer: Peer, name: string, claim: Claim): void {
    if (!peer.claims.has(name) && peer.claims.size >= format.streamsPerTopic) return
    peer.claims.set(name, claim)
    this.#behind.add(name)
  }

  /** The stream is looked at again, because something of it has changed. */
  again(name: string): void {
    this.#behind.add(name)
  }

  /** A peer may be asked for a stream at once. */
  now(peer: string, name: string, now: number): void {
    const claim = this.#state.peers.get(peer)?.claims.get(name)
    if (claim !== undefined) claim.askFrom = now
    this.#behind.add(name)
  }

  /** A peer is not asked for a stream for a while. */
  later(peer: string, name: string, now: number, ms: number = limits.wantRetryMs): void {
    const claim = this.#state.peers.get(peer)?.claims.get(name)
    if (claim !== undefined) claim.askFrom = now + ms
    this.#behind.add(name)
  }

  /** Ends a request, and leaves its peer alone for a while. */
  giveUp(request: Request, now: number, ms?: number): void {
    this.#state.requests.close(request)
    this.later(request.peer, request.name, now, ms)
  }

  /** Asks for all that can be asked for now. */
  ask(now: number): Effect[] {
    const { requests } = this.#state
    const effects: Effect[] = []
    for (const name of [...this.#behind]) {
      if (requests.isBusy(name)) continue
      const sources = [...this.#sources(name)]
      if (sources.length === 0) this.#behind.delete(name)
      const able = sources.filter(({ peer, claim }) => claim.askFrom <= now && requests.hasRoomFor(peer.name))
      const best = able.reduce<(typeof able)[number] | undefined>(
        (a, b) => (a !== undefined && requests.countOf(a.peer.name) <= requests.countOf(b.peer.name) ? a : b),
        undefined,
      )
      if (best !== undefined) effects.push(...this.#start(best.peer, best.claim, best.step, name, now))
    }
    return effects
  }

  /** The peers that have something of a stream which is not here. */
  *#sources(name: string): Generator<{ peer: Peer; claim: Claim; step: Step }> {
    const row = this.#state.table.get(name)
    for (const peer of this.#state.ready()) {
      const claim = peer.claims.get(name)
      const step = claim && nextStep(claim, row, this.#whose(claim.stream, peer))
      if (claim !== undefined && step !== undefined) yield { peer, claim, step }
    }
  }

  #whose(stream: StreamKey, { name }: Peer): 'own' | 'theirs' | 'other' {
    if (this.#state.isOwn(stream)) return this.#state.options.isInDoubt() ? 'other' : 'own'
    return nameOfNode(stream.node) === name ? 'theirs' : 'other'
  }

  #start(peer: Peer, claim: Claim, step: Step, name: string, now: number): Effect[] {
    const { requests } = this.#state
    if (!isVerified(claim)) return this.#actions.closeBadHead(peer, now)
    const { stream } = claim
    if (step.want === 'parting') return this.#actions.startParting(peer, name, now)
    const from = step.want === 'evidence' ? 0 : step.from
    const { id } = requests.open({ peer: peer.name, name, kind: step.want, from }, now)
    if (step.want === 'evidence') return [send(peer.name, { is: 'want-evidence', id, stream })]
    if (step.want === 'records') return [send(peer.name, { is: 'want-records', id, stream, from, to: step.to })]
    return [send(peer.name, { is: 'want', id, stream, from, bytes: tuning.wantBytes })]
  }
}

function isVerified(claim: Claim): boolean {
  if (claim.isVerified || claim.signed === undefined) return true
  try {
    heads.verify(claim.signed)
    claim.isVerified = true
    return true
  } catch (error) {
    if (error instanceof MalformedBytes) return false
    throw error
  }
}
