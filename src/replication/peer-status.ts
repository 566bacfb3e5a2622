import { limits } from '../base/limits.ts'

/** How well a node keeps up with the swarm. */
export type PeerStatus = 'LowLatency' | 'HighLatency' | 'PartiallyWorking' | 'NotWorking'

/** The last offsets by stream ID. */
export type Offsets = Readonly<Record<string, number>>

export interface PeerStatusOptions {
  /** A node that has everything from before that many milliseconds has a low latency. */
  readonly lowLatencyMs: number
  /** The same for a high latency. */
  readonly highLatencyMs: number
}

/** The offsets that became known in some time. */
interface Progress {
  readonly from: number
  /** When the last of them became known. */
  at: number
  readonly offsets: Map<string, number>
}

/**
 * Compares what each node has with what the swarm had some time ago. It is told what nodes have, this one included, and
 * has no clock: times are milliseconds of a monotonic clock. The number of nodes and streams is bounded by the caller.
 */
export class PeerStatuses {
  readonly #options: PeerStatusOptions
  /** What each node has said that it has. */
  readonly #told = new Map<string, Offsets>()
  readonly #statuses = new Map<string, PeerStatus>()
  /** The highest known offset of each stream. */
  readonly #highest = new Map<string, number>()
  /** How they grew, in ascending order: as far as it is not in both bounds yet. */
  #history: Progress[] = []
  readonly #low = new Bound()
  readonly #high = new Bound()

  constructor(options: PeerStatusOptions) {
    this.#options = options
  }

  /** A node has told which offsets it has. */
  told(node: string, offsets: Offsets, now: number): void {
    this.#told.set(node, offsets)
    const progress = this.#progress(now)
    for (const [stream, offset] of Object.entries(offsets))
      if (offset > (this.#highest.get(stream) ?? -1)) {
        this.#highest.set(stream, offset)
        progress.set(stream, offset)
      }
  }

  /** A node has left for good. */
  forget(node: string): void {
    this.#told.delete(node)
    this.#statuses.delete(node)
  }

  /** By stream, the highest offset that any node has. */
  get highest(): Offsets {
    return Object.fromEntries(this.#highest)
  }

  /** The status of each node that is known long enough. */
  at(now: number): Readonly<Record<string, PeerStatus>> {
    this.#low.advance(this.#history, now - this.#options.lowLatencyMs)
    this.#high.advance(this.#history, now - this.#options.highLatencyMs)
    const done = Math.min(this.#low.at, this.#high.at)
    this.#history = this.#history.filter(({ at }) => at > done)
    // Before that there is nothing to compare with.
    if (this.#high.isKnown) for (const [node, told] of this.#told) this.#statuses.set(node, this.#statusOf(told))
    return Object.fromEntries(this.#statuses)
  }

  #statusOf(told: Offsets): PeerStatus {
    if (this.#low.missingIn(told) === 0) return 'LowLatency'
    const missing = this.#high.missingIn(told)
    if (missing === 0) return 'HighLatency'
    return missing <= this.#high.size - missing ? 'PartiallyWorking' : 'NotWorking'
  }

  /** The entry of the history for now. Their number is bounded, so one stands for some time. */
  #progress(now: number): Map<string, number> {
    const last = this.#history.at(-1)
    const { lowLatencyMs, highLatencyMs } = this.#options
    const apart = Math.max(1000, Math.max(lowLatencyMs, highLatencyMs) / limits.peerStatusHistory)
    if (last !== undefined && now - last.from < apart) {
      last.at = now
      return last.offsets
    }
    this.at(now)
    const offsets = new Map<string, number>()
    this.#history.push({ from: now, at: now, offsets })
    return offsets
  }
}

/** What the swarm had up to some moment. */
class Bound {
  at = Number.NEGATIVE_INFINITY
  readonly #offsets = new Map<string, number>()

  get isKnown(): boolean {
    return this.at > Number.NEGATIVE_INFINITY
  }

  get size(): number {
    return this.#offsets.size
  }

  advance(history: readonly Progress[], to: number): void {
    for (const { at, offsets } of history) {
      if (at <= this.at || at > to) continue
      for (const [stream, offset] of offsets) this.#offsets.set(stream, offset)
      this.at = at
    }
  }

  /** The number of streams of which a node lacks events. */
  missingIn(told: Offsets): number {
    let missing = 0
    for (const [stream, offset] of this.#offsets) if ((told[stream] ?? -1) < offset) missing++
    return missing
  }
}
