import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'

interface ReadSession {
  readonly peer: string
  /** Memory of what it has received and not delivered. */
  readonly unreadBytes: number
}

/**
 * Memory of received bytes that are not part of a delivered message, bounded per peer and in all: a peer can make this
 * node hold the largest message on each connection, and make many connections.
 */
export class UnreadBytes {
  /** By peer; those without any are left out. */
  readonly #ofPeers = new Map<string, number>()
  #total = 0

  /** The memory of a session has changed by this. Returns the session to close, if it is too much now. */
  changed<S extends ReadSession>(peer: string, change: number, sessions: Iterable<S>): S | undefined {
    const ofPeer = (this.#ofPeers.get(peer) ?? 0) + change
    assert(ofPeer >= 0, 'no more is delivered or dropped than was received')
    this.#total += change
    if (ofPeer === 0) this.#ofPeers.delete(peer)
    else this.#ofPeers.set(peer, ofPeer)
    if (ofPeer > limits.unreadPeerBytes) return largest([...sessions].filter((session) => session.peer === peer))
    return this.#total > limits.unreadSwarmBytes ? largest([...sessions]) : undefined
  }
}

function largest<S extends ReadSession>(sessions: readonly S[]): S | undefined {
  return sessions.reduce<S | undefined>(
    (most, session) => (most === undefined || session.unreadBytes > most.unreadBytes ? session : most),
    undefined,
  )
}
