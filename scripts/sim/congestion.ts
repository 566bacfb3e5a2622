import type { Replicator } from '../../src/swarm/index.ts'
import type { Agenda } from './agenda.ts'

/** Times that a queue of messages takes from which on answers, and then new events, are left out. */
const levels = [
  { name: 'syncCongested', ms: 100 },
  { name: 'congested', ms: 300 },
] as const

/** Tells replication while much waits to be sent to a peer. */
export class Congestion {
  readonly #agenda: Agenda
  readonly #replicator: () => Replicator
  /** By level: the peers to which that much waits to be sent. */
  readonly #peers = levels.map(() => new Set<string>())

  constructor(agenda: Agenda, replicator: () => Replicator) {
    this.#agenda = agenda
    this.#replicator = replicator
  }

  /** @param queuedMs the time after which everything is sent */
  watch(peer: string, queuedMs: number): void {
    for (const [i, { name, ms }] of levels.entries()) {
      const peers = this.#peers[i] as Set<string>
      if (queuedMs < ms || peers.has(peer)) continue
      peers.add(peer)
      this.#replicator()[name](peer, true)
      this.#agenda.after(queuedMs, () => {
        peers.delete(peer)
        this.#replicator()[name](peer, false)
      })
    }
  }
}
