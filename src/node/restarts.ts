import { limits } from '../base/limits.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

/** What a node belongs to: settings that only take effect when parts of the node are restarted. */
export interface Membership {
  readonly topic: string
  readonly swarmKey: string
}

/** The restarts of a node. Each resolves when the parts run as wanted, and rejects when they cannot. */
export interface RestartSteps {
  /** Closes all parts of the open topic, and opens those of another one. */
  changeTopic(to: Membership): Promise<void>
  /** Restarts the swarm with another key. */
  restartSwarm(to: Membership): Promise<void>
}

/** The smallest restart that leads to what is wanted; undefined when none is needed. */
export function restartFor(running: Membership | undefined, wanted: Membership): keyof RestartSteps | undefined {
  if (running?.topic !== wanted.topic) return 'changeTopic'
  return running.swarmKey === wanted.swarmKey ? undefined : 'restartSwarm'
}

/**
 * Restarts parts of the node until they run as wanted, one restart at a time: of the changes that come meanwhile, the
 * last one wins. A failed restart is repeated after a while, or at once with the next change.
 */
export class Restarts {
  readonly #steps: RestartSteps
  readonly #timers: Timers
  /** Undefined after a failed restart. */
  #running: Membership | undefined
  #wanted: Membership
  #work: Promise<void> | undefined
  #retry: Timer | undefined
  #isStopped = false
  /** Whether a restart was asked for that has not begun. */
  #isAsked = false

  constructor(running: Membership, steps: RestartSteps, timers: Timers) {
    this.#running = running
    this.#wanted = running
    this.#steps = steps
    this.#timers = timers
  }

  change({ topic, swarmKey }: Membership): void {
    // Other settings do not repeat a failed restart.
    if (restartFor(this.#wanted, { topic, swarmKey }) === undefined) return
    this.#wanted = { topic, swarmKey }
    this.#begin()
  }

  /** Closes and opens all parts of the topic, once more after a restart that runs. */
  restart(): void {
    this.#isAsked = true
    this.#begin()
  }

  /** Waits for a restart that runs; no other one starts. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timers.clear(this.#retry)
    await this.#work
  }

  #begin(): void {
    this.#timers.clear(this.#retry)
    this.#work ??= this.#restart().finally(() => {
      this.#work = undefined
    })
  }

  async #restart(): Promise<void> {
    for (let step = this.#next(); step !== undefined; step = this.#next()) {
      const wanted = this.#wanted
      this.#isAsked = false
      try {
        await this.#steps[step](wanted)
        this.#running = wanted
      } catch {
        // The step reports its failure.
        this.#running = undefined
        if (this.#wanted !== wanted || this.#isStopped) continue
        this.#retry = this.#timers.setTimeout(() => this.#begin(), limits.topicRetryMs).unref()
        return
      }
    }
  }

  #next(): keyof RestartSteps | undefined {
    if (this.#isStopped) return undefined
    return this.#isAsked ? 'changeTopic' : restartFor(this.#running, this.#wanted)
  }
}
