import type { Logger } from '../../logging/index.ts'
import type { SessionCloseReason } from '../host/index.ts'
import { type Dialler, nodeIdOfPeer } from '../peers/index.ts'
import { ReasonCounts } from './reason-counts.ts'

/** Reasons to close a session that are not the fault of the peer. */
const innocent: ReadonlySet<SessionCloseReason> = new Set(['silent', 'unknownRequiredFeature'])

/** Keeps peers out for what they have sent, and tells the operator. */
export class KeepingOut {
  readonly #dialler: Pick<Dialler, 'keepOut'>
  readonly #log: Logger
  readonly #counts = new ReasonCounts()

  constructor(dialler: Pick<Dialler, 'keepOut'>, log: Logger) {
    this.#dialler = dialler
    this.#log = log
  }

  /** How often peers were kept out, by reason. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts.counts
  }

  /** Keeps a peer out, unless it is innocent. Returns whether it is kept out. */
  add(peer: string, reason: SessionCloseReason, now: number): boolean {
    if (innocent.has(reason)) return false
    const seconds = Math.round(this.#dialler.keepOut(peer, now) / 1000)
    this.#counts.add(reason)
    this.#log.warn(`keeping ${nodeIdOfPeer(peer)} out for ${seconds} s: ${reason}`)
    return true
  }
}
