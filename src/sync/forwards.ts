import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'

/** New events that are to be sent on to a peer. */
export interface Forward {
  readonly to: string
  readonly stream: string
  /** The count of the stream with them. */
  readonly count: number
  /** Undefined when too many bytes wait: then only the head is sent. */
  readonly chunk: Uint8Array | undefined
}

interface Waiting extends Forward {
  readonly dueAt: number
}

/** Events that wait for a short random time before they are forwarded. */
export class Forwards {
  readonly #random: () => number
  #waiting: Waiting[] = []
  #bytes = 0
  #dueAt = Number.POSITIVE_INFINITY

  constructor(random: () => number) {
    this.#random = random
  }

  get dueAt(): number {
    return this.#dueAt
  }

  /** Events beyond the limit are dropped: the peer learns of them from the next digest. */
  add(forward: Forward, now: number): void {
    if (this.#waiting.length >= limits.forwards) return
    const size = forward.chunk?.length ?? 0
    const fits = size <= tuning.pushBytes && this.#bytes + size <= limits.forwardedBytes
    if (fits) this.#bytes += size
    const dueAt = now + this.#random() * tuning.forwardDelayMs
    this.#dueAt = Math.min(this.#dueAt, dueAt)
    this.#waiting.push({ ...forward, chunk: fits ? forward.chunk : undefined, dueAt })
  }

  /** Only the heads of a stream are forwarded, not the events that are waiting. */
  dropChunks(stream: string): void {
    this.#waiting = this.#waiting.map((waiting) => {
      if (waiting.stream !== stream) return waiting
      this.#bytes -= waiting.chunk?.length ?? 0
      return { ...waiting, chunk: undefined }
    })
  }

  /** Removes and returns those that are due, in the order of their times. */
  take(now: number): Forward[] {
    if (this.#dueAt > now) return []
    const due = this.#waiting.filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt)
    this.#waiting = this.#waiting.filter(({ dueAt }) => dueAt > now)
    this.#dueAt = this.#waiting.reduce((at, { dueAt }) => Math.min(at, dueAt), Number.POSITIVE_INFINITY)
    for (const { chunk } of due) this.#bytes -= chunk?.length ?? 0
    return due
  }
}
