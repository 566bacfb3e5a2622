import { format } from '../base/format.ts'
import { tuning } from '../base/tuning.ts'
import type { StreamKey } from '../protocol/index.ts'
import type { Effect } from './effects.ts'
import type { Liveness } from './liveness.ts'
import type { StoredMessage } from './messages.ts'
import { nameOfNode, type Peer } from './peer.ts'
import { type SyncState, send } from './sync-state.ts'

/** What nodes tell each other about themselves at intervals: digests, wall clocks, and what they have stored. */
export class Reports {
  readonly #state: SyncState
  readonly #liveness: Liveness
  #gossipAt: number
  /** When the peers are told which of their events are stored here. */
  #reportAt = Number.POSITIVE_INFINITY

  constructor(state: SyncState, liveness: Liveness, now: number) {
    this.#state = state
    this.#liveness = liveness
    this.#gossipAt = now + state.times.gossipMs
  }

  /** The interval has changed: a shorter one counts from now on. */
  retime(now: number): void {
    this.#gossipAt = Math.min(this.#gossipAt, now + this.#state.times.gossipMs)
  }

  get wakeAt(): number {
    return Math.min(this.#gossipAt, this.#reportAt)
  }

  /** Events of another node were stored: it is told soon, together with others. */
  stored({ node, number }: StreamKey, count: number, now: number): void {
    const peer = this.#state.peers.get(nameOfNode(node))
    if (peer === undefined) return
    if (peer.unreported.size >= format.streamsPerNode && !peer.unreported.has(number)) return
    peer.unreported.set(number, count)
    this.#reportAt = Math.min(this.#reportAt, now + tuning.reportStoredMs)
  }

  /** A peer says what it has stored of own streams. */
  peerStored({ stored }: Peer, { streams }: StoredMessage): void {
    for (const { number, count } of streams)
      if (stored.size < format.streamsPerNode || stored.has(number)) stored.set(number, count)
  }

  digestTo(peer: string): Effect {
    const { table, options } = this.#state
    return send(peer, { is: 'digest', digest: table.digest(), time: options.wallClock() })
  }

  /** After a doubtful start, asks a peer what it has of the own streams. */
  askOwn(peer: string): Effect[] {
    return this.#state.options.isInDoubt() ? [send(peer, { is: 'want-own' })] : []
  }

  tick(now: number): Effect[] {
    const effects = this.#reportAt <= now ? this.#sendStored() : []
    if (this.#gossipAt > now) return effects
    const { times, options } = this.#state
    this.#gossipAt = now + times.gossipMs * (0.75 + 0.5 * options.random())
    for (const peer of this.#state.ready()) {
      effects.push(this.digestTo(peer.name), this.#liveness.ping(peer, now), ...this.askOwn(peer.name))
    }
    return effects
  }

  #sendStored(): Effect[] {
    this.#reportAt = Number.POSITIVE_INFINITY
    return [...this.#state.ready()].flatMap(({ name, unreported }) => {
      const streams = [...unreported].map(([number, count]) => ({ number, count }))
      unreported.clear()
      return streams.length === 0 ? [] : [send(name, { is: 'stored', streams })]
    })
  }
}
