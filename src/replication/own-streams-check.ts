import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import type { Doubt, OwnComparison } from './doubtful-start.ts'

/** Whether own events may be appended, and if not, what is missing. */
export type CheckState =
  | { readonly is: 'settled' }
  | {
      readonly is: 'waiting'
      /** A connection, the heads of a connected peer, or own events that a peer has. */
      readonly for: 'peer' | 'heads' | 'events'
      /** When it ends without further news; undefined when it waits without a limit. */
      readonly until: number | undefined
    }

/**
 * Decides when own streams are complete, and until then what has to be adopted from peers: after a doubtful start, and
 * whenever a peer has a longer chain of an own stream. A state machine: it is told what happens and when. Times are
 * milliseconds of a monotonic clock.
 */
export class OwnStreamsCheck {
  #doubt: Doubt | 'behind' | undefined
  /** For each connected peer: until when news of it are expected. */
  readonly #peers = new Map<string, number>()
  /** The own streams that are longer on a peer, with the number of their events there. */
  readonly #wanted = new Map<number, number>()
  readonly #frozen = new Set<number>()
  /** The own streams of which a peer has another history. */
  readonly #forked = new Set<number>()
  /** The peers that have told what they have. */
  readonly #compared = new Set<string>()
  readonly #abandoned = new Set<number>()
  #isSettled: boolean
  #hasCompared = false
  #now: number
  /** How long there was no peer from which news were expected. */
  #aloneMs = 0
  /** When something was learned or adopted last. */
  #progressAt: number

  constructor(doubt: Doubt | undefined, now: number) {
    this.#doubt = doubt
    this.#isSettled = doubt === undefined
    this.#now = now
    this.#progressAt = now
  }

  /** Why own streams may be, or are, shorter than on another node. */
  get doubt(): Doubt | 'behind' | undefined {
    return this.#doubt
  }

  /** The own streams to adopt, with the number of their events on a peer. */
  get wanted(): ReadonlyMap<number, number> {
    return this.#wanted
  }

  /** The own streams that are known to be longer elsewhere and could not be adopted: appending to them would fork them. */
  get abandoned(): readonly number[] {
    return [...this.#abandoned]
  }

  get state(): CheckState {
    if (this.#isSettled) return { is: 'settled' }
    const missing = this.#wanted.size > 0 ? 'events' : this.#peers.size > 0 ? 'heads' : 'peer'
    return { is: 'waiting', for: missing, until: this.#until }
  }

  connected(peer: string, now: number): void {
    this.#advance(now)
    this.#peers.set(peer, now + limits.ownNewsMs)
  }

  disconnected(peer: string, now: number): void {
    this.#advance(now)
    this.#peers.delete(peer)
    this.#compared.delete(peer)
  }

  /** All own streams that a peer has, or that are stored here, were compared. */
  compared(peer: string, streams: readonly OwnComparison[], now: number): void {
    this.#advance(now)
    for (const { stream, is } of streams) if (is === 'longer') this.#reopen(stream, now)
    if (this.#isSettled) return
    // A restored backup may have waited for long: what is missing gets the full time, once.
    if (!this.#hasCompared) this.#restartTimes(now)
    this.#hasCompared = true
    const hasNews = streams.map((compared) => this.#learn(compared)).some((isNews) => isNews)
    if (hasNews) this.#progressAt = now
    // A peer that repeats itself must not make publishing wait for ever.
    if (this.#peers.has(peer) && (hasNews || !this.#compared.has(peer))) this.#peers.set(peer, now + limits.ownNewsMs)
    this.#compared.add(peer)
    this.#settleIfComplete()
  }

  /** A peer has a longer chain of one own stream: its events are adopted before anything is appended to it. */
  behind(peer: string, { stream, count }: Pick<OwnComparison, 'stream' | 'count'>, now: number): void {
    this.#advance(now)
    this.#reopen(stream, now)
    if (this.#isSettled || !this.#learn({ stream, count, is: 'longer' })) return
    this.#progressAt = now
    if (this.#peers.has(peer)) this.#peers.set(peer, now + limits.ownNewsMs)
  }

  /** Own streams are not complete, although that was settled. A stream that is not continued need not be waited for. */
  #reopen(stream: number, now: number): void {
    if (!this.#isSettled || this.#frozen.has(stream) || this.#abandoned.has(stream)) return
    this.#isSettled = false
    this.#doubt = 'behind'
    this.#hasCompared = true
    this.#restartTimes(now)
  }

  #restartTimes(now: number): void {
    this.#aloneMs = 0
    this.#progressAt = now
  }

  /** Returns whether there is more to adopt than was known. */
  #learn({ stream, count, is }: OwnComparison): boolean {
    const wanted = this.#wanted.get(stream) ?? 0
    if (is === 'forked') this.#forked.add(stream)
    // Events may have been adopted while this was compared.
    if (is === 'equal' && count >= wanted) this.#wanted.delete(stream)
    if (is !== 'longer' || this.#frozen.has(stream) || this.#abandoned.has(stream) || count <= wanted) return false
    this.#wanted.set(stream, count)
    return true
  }

  /** Events of an own stream were adopted: it has `count` events now. */
  adopted(stream: number, count: number, now: number): void {
    this.#advance(now)
    if (this.#isSettled) return
    this.#progressAt = now
    for (const [peer, until] of this.#peers) this.#peers.set(peer, Math.max(until, now + limits.ownNewsMs))
    if (count >= (this.#wanted.get(stream) ?? 0)) this.#wanted.delete(stream)
    this.#settleIfComplete()
  }

  /** An own stream was frozen because of a fork: nothing is appended to it any more, so nothing is missing. */
  froze(stream: number, now: number): void {
    this.#advance(now)
    this.#frozen.add(stream)
    if (this.#isSettled) return
    this.#wanted.delete(stream)
    this.#settleIfComplete()
  }

  /** The operator has accepted the own streams as they are. */
  accepted(now: number): void {
    this.#advance(now)
    this.#settle()
  }

  /** Time has passed. */
  tick(now: number): void {
    this.#advance(now)
  }

  #settleIfComplete(): void {
    if (this.#hasCompared && this.#wanted.size === 0) this.#settle()
  }

  #settle(): void {
    if (this.#isSettled) return
    this.#isSettled = true
    for (const stream of [...this.#wanted.keys(), ...this.#forked])
      if (!this.#frozen.has(stream)) this.#abandoned.add(stream)
    this.#wanted.clear()
    this.#forked.clear()
  }

  #advance(now: number): void {
    assert(now >= this.#now, 'the monotonic clock does not go back')
    this.#aloneMs += Math.max(0, now - Math.max(this.#now, this.#newsUntil))
    this.#now = now
    const isOver = this.#aloneMs >= limits.ownPeerMs || now >= this.#progressAt + limits.ownLongestMs
    if (!this.#isSettled && this.#hasLimit && isOver) this.#settle()
  }

  /** A restored backup is known to be old: without a comparison or the operator it stays in doubt. */
  get #hasLimit(): boolean {
    return this.#doubt !== 'restored' || this.#hasCompared
  }

  get #newsUntil(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...this.#peers.values())
  }

  get #until(): number | undefined {
    if (!this.#hasLimit) return undefined
    const aloneUntil = Math.max(this.#now, this.#newsUntil) + limits.ownPeerMs - this.#aloneMs
    return Math.min(aloneUntil, this.#progressAt + limits.ownLongestMs)
  }
}
