import { limits } from '../../base/limits.ts'

/** After how long a thread that has ended is started again: each time longer, unless it has worked for a while. */
export class RestartDelays {
  #next: number = limits.minThreadRestartMs

  /** @param ranMs for how long it had worked */
  after(ranMs: number): number {
    if (ranMs >= limits.maxThreadRestartMs) this.#next = limits.minThreadRestartMs
    const delay = this.#next
    this.#next = Math.min(limits.maxThreadRestartMs, 2 * delay)
    return delay
  }
}
