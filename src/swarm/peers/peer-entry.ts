import { limits } from '../../base/limits.ts'
import { parseTcpAddress } from './address.ts'
import { backOffMs } from './back-off.ts'
import { replaces } from './doubles.ts'
import { KnownAddresses } from './known-addresses.ts'
import type { DialFailed, KnownSession } from './known-peer.ts'

export interface SessionStart {
  readonly id: number
  readonly direction: 'inbound' | 'outbound'
  readonly address: string
}

/** A peer that is known: its addresses, sessions and failures. */
export class PeerEntry {
  readonly peer: string
  readonly addresses = new KnownAddresses()
  /** The address that is being dialled. */
  dialling: string | undefined
  /** Since when there is no session with it. */
  aloneSince: number
  /** When it was learned about or connected last. */
  usedAt: number
  wasConnected = false
  #isFailureKnown = false
  /** The newest first. */
  readonly failures: DialFailed[] = []
  /** Sessions in a row that ended early, and until when it is not dialled because of them. */
  #earlyEnds = 0
  pausedUntil = Number.NEGATIVE_INFINITY
  #session: KnownSession | undefined
  /** Doubles that are being closed. */
  readonly #closing = new Map<number, KnownSession>()

  constructor(peer: string, now: number) {
    this.peer = peer
    this.aloneSince = now
    this.usedAt = now
  }

  get isConnected(): boolean {
    return this.#session !== undefined
  }

  /** Also while the last one is being closed. */
  get hasSession(): boolean {
    return this.#session !== undefined || this.#closing.size > 0
  }

  /** The session that stays first, then those that are being closed. */
  get sessions(): readonly KnownSession[] {
    return [...(this.#session === undefined ? [] : [this.#session]), ...this.#closing.values()]
  }

  /** Whether a session with it goes through this machine, whose hosts are given. */
  isOnThisMachine(ownHosts: ReadonlySet<string>): boolean {
    const address = this.#session && parseTcpAddress(this.#session.address)
    return address !== undefined && (address.reach === 'local' || ownHosts.has(address.host))
  }

  /** Returns the session to close when there are two now. */
  connected(start: SessionStart, isHigher: boolean, now: number): number | undefined {
    const session: KnownSession = { ...start, since: now }
    this.wasConnected = true
    this.#isFailureKnown = false
    this.usedAt = now
    if (start.direction === 'outbound') this.addresses.connected(start.address, now)
    const before = this.#session
    if (before === undefined) {
      this.#session = session
      return undefined
    }
    const [kept, closed] = replaces(session, before, isHigher) ? [session, before] : [before, session]
    this.#session = kept
    this.#closing.set(closed.id, closed)
    return closed.id
  }

  /** Returns whether the peer has no session any more because of it. */
  disconnected(id: number, reason: string, now: number, random: () => number): boolean {
    if (this.#closing.delete(id)) return false
    const session = this.#session
    if (session?.id !== id) return false
    this.#session = undefined
    this.aloneSince = now
    this.usedAt = now
    if (now - session.since >= limits.stableSessionMs) {
      this.#earlyEnds = 0
      this.addresses.reset(now)
      return true
    }
    // A peer that closes every connection must not be dialled without a pause.
    this.#earlyEnds++
    this.pausedUntil = now + backOffMs(this.#earlyEnds, random)
    this.note({ address: session.address, at: now, reason: `the connection ended early: ${reason}` })
    return true
  }

  /** Whether it has not failed since the last connection; true once. */
  isFirstFailure(): boolean {
    const isFirst = !this.#isFailureKnown
    this.#isFailureKnown = true
    return isFirst
  }

  note(failure: DialFailed): void {
    this.failures.unshift(failure)
    this.failures.length = Math.min(this.failures.length, limits.dialFailuresPerPeer)
  }
}
