import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type { Effect } from '../../sync/index.ts'

/** What a peer has sent, for the store. */
export type InputEffect = Extract<Effect, { do: 'compare-own' | 'store' | 'apply-records' | 'apply-evidence' }>

interface Item<Input> {
  readonly bytes: number
  readonly input: Input
}

/** What one peer has sent in one session. */
class PeerQueue<Input> {
  readonly peer: string
  /** Those that wait, without the ones that are being stored. */
  readonly items: Item<Input>[] = []
  /** Of all of them. */
  bytes = 0
  isStoring = false
  isPaused = false
  /** What has arrived although the peer is paused. */
  bytesSincePause = 0

  constructor(peer: string) {
    this.peer = peer
  }
}

export interface InputActions<Input> {
  /** Stores what a peer has sent, in order. Must not fail. */
  store(inputs: readonly Input[]): Promise<void>
  /** Whether an input is stored together with others of which this is true, which follow each other. */
  isJoined(input: Input): boolean
  /** Stops reading from a peer, or goes on. */
  pause(peer: string, isPaused: boolean): void
  /** A peer sends on, far beyond the limit. Its input is dropped by its disconnection. */
  overflow(peer: string): void
  /** Input of a peer waits to be stored, or nothing of it waits any more. */
  waits(peer: string, isWaiting: boolean): void
}

/**
 * What peers have sent, and what is not stored yet: in order per peer, and bounded in bytes, per peer and in all. A peer
 * with too much of it is not read (backpressure).
 */
export class InputQueue<Input> {
  readonly #actions: InputActions<Input>
  readonly #queues = new Map<string, PeerQueue<Input>>()
  /** Bytes of all peers, including those that are being stored. */
  #bytes = 0
  /** Bytes that are being stored. */
  #storing = 0
  /** Whether a peer waits because of that. Then something is being stored, and its end lets the next ones in. */
  #isStoreFull = false

  constructor(actions: InputActions<Input>) {
    this.#actions = actions
  }

  /** Bytes that wait for the store, over all peers. */
  get bytes(): number {
    return this.#bytes
  }

  /** What waits of a peer. */
  of(peer: string): { readonly inputBytes: number; readonly isPaused: boolean } {
    const queue = this.#queues.get(peer)
    return { inputBytes: queue?.bytes ?? 0, isPaused: queue?.isPaused ?? false }
  }

  add(peer: string, size: number, input: Input): void {
    const bytes = size + limits.queuedMessageBytes
    const queue = this.#queueOf(peer)
    if (queue.isPaused) {
      queue.bytesSincePause += bytes
      if (queue.bytesSincePause > limits.inputBytesSincePause) {
        this.#actions.overflow(peer)
        return
      }
    }
    const isFirst = queue.bytes === 0
    queue.items.push({ bytes, input })
    queue.bytes += bytes
    this.#bytes += bytes
    if (isFirst) this.#actions.waits(peer, true)
    if (queue.bytes > limits.inputBytesPerPeer || this.#bytes > limits.inputBytes) this.#pause(queue)
    this.#storeNext(queue)
  }

  /** A peer is gone. What waits of it is dropped: it would have to be verified for nothing if the peer is hostile. */
  drop(peer: string): void {
    const queue = this.#queues.get(peer)
    if (queue === undefined) return
    this.#queues.delete(peer)
    for (const { bytes } of queue.items.splice(0)) this.#bytes -= bytes
    this.#resumeAll()
  }

  #queueOf(peer: string): PeerQueue<Input> {
    const queue = this.#queues.get(peer) ?? new PeerQueue<Input>(peer)
    this.#queues.set(peer, queue)
    return queue
  }

  #pause(queue: PeerQueue<Input>): void {
    if (queue.isPaused) return
    queue.isPaused = true
    queue.bytesSincePause = 0
    this.#actions.pause(queue.peer, true)
  }

  /** Stores the next of a peer, unless the store has enough to do: then all wait in line until it has stored something. */
  #storeNext(queue: PeerQueue<Input>): void {
    const [next] = queue.items
    if (next === undefined || queue.isStoring || this.#isStoreFull) return
    this.#isStoreFull = this.#storing > 0 && this.#storing + next.bytes > limits.storingBytes
    if (!this.#isStoreFull) void this.#store(queue, this.#takeJoined(queue))
  }

  /** Takes the first input of a peer, and those that are stored together with it. */
  #takeJoined({ items }: PeerQueue<Input>): Item<Input>[] {
    let bytes = 0
    let count = 0
    for (const item of items) {
      bytes += item.bytes
      const fits = bytes <= tuning.receiveSliceBytes && count < limits.receivedChunks
      if (count > 0 && !(fits && this.#actions.isJoined(item.input))) break
      count++
      if (!this.#actions.isJoined(item.input)) break
    }
    return items.splice(0, count)
  }

  async #store(queue: PeerQueue<Input>, items: readonly Item<Input>[]): Promise<void> {
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0)
    queue.isStoring = true
    this.#storing += bytes
    await this.#actions.store(items.map(({ input }) => input))
    queue.isStoring = false
    queue.bytes -= bytes
    this.#storing -= bytes
    this.#bytes -= bytes
    if (this.#queues.get(queue.peer) === queue) this.#stored(queue)
    this.#resumeAll()
    if (this.#isStoreFull) this.#storeNextOfAll()
    else this.#storeNext(queue)
  }

  #storeNextOfAll(): void {
    this.#isStoreFull = false
    for (const queue of [...this.#queues.values()]) {
      this.#storeNext(queue)
      if (this.#isStoreFull) return
    }
  }

  /** Puts a peer at the end of the line. */
  #stored(queue: PeerQueue<Input>): void {
    this.#queues.delete(queue.peer)
    if (queue.bytes > 0 || queue.isPaused) this.#queues.set(queue.peer, queue)
    if (queue.bytes === 0) this.#actions.waits(queue.peer, false)
  }

  #resumeAll(): void {
    if (this.#bytes > limits.inputLowBytes) return
    for (const queue of [...this.#queues.values()]) {
      if (!queue.isPaused || queue.bytes > limits.inputLowBytesPerPeer) continue
      queue.isPaused = false
      if (queue.bytes === 0) this.#queues.delete(queue.peer)
      this.#actions.pause(queue.peer, false)
    }
  }
}

/** The bytes that are kept until it is stored. */
export function sizeOfInput(effect: InputEffect): number {
  switch (effect.do) {
    case 'store':
      return effect.chunk.length
    case 'apply-evidence':
      return effect.record.length
    case 'apply-records': {
      const { prune, redactions } = effect.records
      return sizeOf(prune === undefined ? redactions : [prune.record, prune.head, ...redactions])
    }
    case 'compare-own':
      return sizeOf(effect.heads)
  }
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
