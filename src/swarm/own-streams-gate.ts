import { assert } from '../base/assert.ts'
import { failure, messageOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../logging/index.ts'
import { type Doubt, doubtOf, type OwnComparison, OwnStreamsCheck } from '../replication/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Timer, Timers } from '../runtime/timers.ts'
import type { OwnHistory } from '../store/index.ts'
import type { ReplicationGate } from './exchange/replication-gate.ts'

export interface GateParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

const other = 'other nodes may have newer events of this node'
const causes: Readonly<Record<Doubt | 'behind', string>> = {
  restored: `a backup was restored, and ${other}`,
  copied: `the data folder was copied or moved, and ${other}`,
  unclean: `the node was not stopped cleanly, and ${other}`,
  behind: 'other nodes have newer events of this node',
}

/**
 * Makes publishing wait until own streams are known to be complete: after a doubtful start, and when a peer has more of
 * them. What is known comes from the connections to peers; the decision is that of `OwnStreamsCheck`.
 */
export class OwnStreamsGate implements ReplicationGate {
  readonly #store: OwnHistory
  readonly #parts: GateParts
  readonly #check: OwnStreamsCheck
  readonly #waiting = new Set<Waiting>()
  #timer: Timer | undefined
  #poll: Timer | undefined
  #onOpen: () => void = () => {}
  #isOpen: boolean
  #openings = 0
  #isSettling = false
  #isClosed = false

  private constructor(store: OwnHistory, doubt: Doubt | undefined, parts: GateParts) {
    this.#store = store
    this.#parts = parts
    this.#check = new OwnStreamsCheck(doubt, parts.clock.steadyMs())
    this.#isOpen = doubt === undefined
    if (doubt === undefined) return
    parts.log.warn(`publishing waits, because ${causes[doubt]}`)
    if (doubt === 'restored')
      this.#poll = parts.timers.setInterval(() => void this.#lookForAcceptance(), limits.acceptancePollMs).unref()
    this.#update()
  }

  static async open(store: OwnHistory, parts: GateParts): Promise<OwnStreamsGate> {
    return new OwnStreamsGate(store, doubtOf(await store.startMarks()), parts)
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Whether it waits since a doubtful start. */
  get isInDoubt(): boolean {
    return !this.#isOpen && this.#check.doubt !== 'behind'
  }

  /** How often it has been opened. Own streams may be longer since, or abandoned. */
  get openings(): number {
    return this.#openings
  }

  /** Called when the gate opens. */
  set onOpen(listener: () => void) {
    this.#onOpen = listener
  }

  /** The own streams that must not be continued: longer ones are known, and could not be adopted. */
  get abandoned(): readonly number[] {
    return this.#check.abandoned
  }

  /** What publishing waits for; undefined when it does not. */
  get problem(): string | undefined {
    const { state, doubt } = this.#check
    if (this.#isOpen || doubt === undefined) return undefined
    const cause = causes[doubt]
    if (state.is === 'settled') return `${cause}: what is known about that is being stored`
    if (state.for === 'events') return `${cause}: ${this.#fetched()} being fetched`
    const accept = doubt === 'restored' ? ', or for `shoal store accept-restored`' : ''
    return `${cause}: waiting for ${state.for === 'peer' ? 'a connection to one of them' : 'their answer'}${accept}`
  }

  connected(peer: string): void {
    this.#check.connected(peer, this.#now)
    this.#update()
  }

  disconnected(peer: string): void {
    this.#check.disconnected(peer, this.#now)
    this.#update()
  }

  compared(peer: string, streams: readonly OwnComparison[]): void {
    this.#check.compared(peer, streams, this.#now)
    this.#update()
  }

  behind(peer: string, stream: Pick<OwnComparison, 'stream' | 'count'>): void {
    this.#check.behind(peer, stream, this.#now)
    this.#update()
  }

  adopted(stream: number, count: number): void {
    this.#check.adopted(stream, count, this.#now)
    this.#update()
  }

  froze(stream: number): void {
    this.#check.froze(stream, this.#now)
    this.#update()
  }

  /** The operator has accepted the own streams as they are. */
  accept(): void {
    this.#check.accepted(this.#now)
    this.#update()
  }

  /** Waits until own events may be appended, up to `limits.publishWaitMs`. */
  wait(): Promise<void> {
    if (this.#isOpen) return Promise.resolve()
    if (this.#isClosed) return Promise.reject(failure('ERR_SHUTTING_DOWN', {}))
    const { timers } = this.#parts
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        timers.clear(timer)
        this.#waiting.delete(waiting)
        settle()
      }
      const waiting = { resolve: () => end(resolve), reject: (error: Error) => end(() => reject(error)) }
      const timer = timers.setTimeout(() => waiting.reject(this.#refusal()), limits.publishWaitMs)
      this.#waiting.add(waiting)
    })
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimers()
    for (const { reject } of [...this.#waiting]) reject(failure('ERR_SHUTTING_DOWN', {}))
  }

  get #now(): number {
    return this.#parts.clock.steadyMs()
  }

  #refusal(): Error {
    const cause = this.problem
    assert(cause !== undefined, 'an open gate refuses nothing')
    return failure('ERR_OWN_STREAMS_UNCERTAIN', { cause })
  }

  #update(): void {
    const { timers } = this.#parts
    timers.clear(this.#timer)
    this.#timer = undefined
    const { state } = this.#check
    if (this.#isClosed || (this.#isOpen && state.is === 'settled')) return
    if (this.#isOpen) this.#shut()
    if (state.is === 'settled') void this.#settle()
    else if (state.until !== undefined) this.#wakeIn(Math.max(0, state.until - this.#now))
  }

  /** A peer has more of the own streams: appending to them would fork them. */
  #shut(): void {
    this.#isOpen = false
    this.#parts.log.warn(`publishing waits, because ${causes.behind}: ${this.#fetched()} being fetched`)
  }

  #fetched(): string {
    const streams = [...this.#check.wanted.keys()].sort((a, b) => a - b)
    return streams.length === 1 ? `those of stream ${streams[0]} are` : `those of the streams ${streams.join(', ')} are`
  }

  #wakeIn(ms: number): void {
    const tick = (): void => {
      this.#check.tick(this.#now)
      this.#update()
    }
    this.#timer = this.#parts.timers.setTimeout(tick, ms).unref()
  }

  /** Opens once the store has forgotten the doubt. */
  async #settle(): Promise<void> {
    if (this.#isSettling) return
    this.#isSettling = true
    try {
      await this.#store.settleOwnStreams()
      if (this.#check.state.is === 'settled') this.#open()
    } catch (error) {
      if (this.#isClosed) return
      this.#parts.log.error(`publishing still waits, because the store fails: ${messageOf(error)}`)
      this.#wakeIn(limits.diskProbeMs)
    } finally {
      this.#isSettling = false
    }
  }

  #open(): void {
    if (this.#isClosed) return
    this.#isOpen = true
    this.#openings++
    this.#stopTimers()
    const left = this.abandoned.length > 0 ? `, without the streams ${this.abandoned.join(', ')}` : ''
    this.#parts.log.info(`own streams are settled${left}: publishing goes on`)
    for (const { resolve } of [...this.#waiting]) resolve()
    this.#onOpen()
  }

  #stopTimers(): void {
    for (const timer of [this.#timer, this.#poll]) this.#parts.timers.clear(timer)
  }

  async #lookForAcceptance(): Promise<void> {
    try {
      const { isAccepted } = await this.#store.startMarks()
      if (isAccepted && !this.#isOpen && !this.#isClosed) this.accept()
    } catch (error) {
      if (!this.#isClosed) this.#parts.log.debug(`the acceptance of a backup cannot be read: ${messageOf(error)}`)
    }
  }
}
