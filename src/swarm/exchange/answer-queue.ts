import { limits } from '../../base/limits.ts'

/** A request of a peer. */
export interface Asked {
  readonly peer: string
  /** What is asked about: a peer asks about a stream once at a time. */
  readonly stream: string
  /** Bytes that the answer may have. */
  readonly bytes: number
  /** Reads the answer and sends it unless the peer is gone. Returns its size; it must not fail. */
  readonly answer: (maxBytes: number, isGone: () => boolean) => Promise<number>
  /** Ends the request without an answer: the peer has asked again. */
  readonly supersede: () => void
}

class PeerRequests {
  readonly waiting: Asked[] = []
  isReading = false
  /** Whether so much waits to be sent to the peer that nothing more is read for it. */
  isCongested = false
  /** Bytes of answers that were sent, and may still wait in the transport. */
  unsent = 0
  isGone = false
}

/**
 * The requests of peers, answered in order and one at a time per peer. Nothing is read for a peer that does not take
 * what was sent to it, and answers in all are bounded (backpressure).
 */
export class AnswerQueue {
  readonly #peers = new Map<string, PeerRequests>()
  /** Bytes of answers that are being read, or may still wait to be sent. */
  #bytes = 0
  #reading = 0

  /** What waits of a peer. */
  of(peer: string): { readonly waitingRequests: number; readonly isCongested: boolean } {
    const requests = this.#peers.get(peer)
    return { waitingRequests: requests?.waiting.length ?? 0, isCongested: requests?.isCongested ?? false }
  }

  connected(peer: string): void {
    this.#peers.set(peer, new PeerRequests())
  }

  /** A request of a connected peer. */
  add(asked: Asked): void {
    const requests = this.#peers.get(asked.peer)
    if (requests === undefined) return
    const { waiting } = requests
    const superseded = waiting.findIndex(({ stream }) => stream === asked.stream)
    if (superseded >= 0) waiting.splice(superseded, 1)[0]?.supersede()
    waiting.push(asked)
    this.#readNext()
  }

  /** Much waits to be sent to a peer, or that is over. */
  congested(peer: string, isCongested: boolean): void {
    const requests = this.#peers.get(peer)
    if (requests === undefined) return
    requests.isCongested = isCongested
    if (!isCongested) this.#sent(requests)
    this.#readNext()
  }

  /** A peer is gone. */
  drop(peer: string): void {
    const requests = this.#peers.get(peer)
    if (requests === undefined) return
    this.#peers.delete(peer)
    requests.isGone = true
    requests.waiting.length = 0
    this.#sent(requests)
    this.#readNext()
  }

  #sent(requests: PeerRequests): void {
    this.#bytes -= requests.unsent
    requests.unsent = 0
  }

  #readNext(): void {
    for (const [peer, requests] of [...this.#peers]) {
      if (this.#reading >= limits.answersAtOnce) return
      const [next] = requests.waiting
      if (next === undefined || requests.isReading || requests.isCongested) continue
      // The less is left, the smaller are the answers: a number of slow peers does not keep others from being answered.
      const share = Math.max(limits.smallAnswerBytes, (limits.answerBytes - this.#bytes) / 4)
      const bytes = Math.min(next.bytes, Math.floor(share))
      if (this.#bytes > 0 && this.#bytes + bytes > limits.answerBytes) return
      requests.waiting.shift()
      // Peers take turns.
      this.#peers.delete(peer)
      this.#peers.set(peer, requests)
      void this.#read(requests, next, bytes)
    }
  }

  async #read(requests: PeerRequests, { answer }: Asked, bytes: number): Promise<void> {
    requests.isReading = true
    this.#reading++
    this.#bytes += bytes
    const size = await answer(bytes, () => requests.isGone)
    requests.isReading = false
    this.#reading--
    this.#bytes -= bytes
    // Without congestion what still waits is little.
    if (requests.isCongested && !requests.isGone) {
      requests.unsent += size
      this.#bytes += size
    }
    this.#readNext()
  }
}
