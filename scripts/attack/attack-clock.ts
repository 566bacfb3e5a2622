import type { Goal } from './attack.ts'

/** Counts of requests sent and answered so far. */
interface Progress {
  readonly connections: number
  readonly bytes: number
  readonly answered: number
}

/** Resource usage of the node. */
export interface NodeSample {
  /** Peak memory so far, in megabytes. */
  readonly peakMb: number
  /** CPU time of all threads so far, in milliseconds. */
  readonly cpuMs: number
}

/** A point in time at which something changed. */
interface Change {
  readonly at: number
  readonly cpuMs: number
}

/** Memory growth below this, in megabytes, is ignored. */
const growthMb = 16
/** CPU milliseconds without memory growth after which an attack that has reached its goal is over. */
const stillCpuMs = 1000
/** CPU milliseconds without progress or growth after which the node accepts no more. */
const stallCpuMs = 3000
/** Milliseconds after which an idle node that accepts nothing will not accept more. */
const idleMs = 1500
/** The share of one core below which a node counts as idle. */
const idleShare = 0.1
/** The minimum time that an attack gets to reach its goal, in milliseconds. */
const patienceMs = 45_000

/**
 * Decides when an attack is over: its time has passed, it has reached its goal or makes no progress, and memory does
 * not grow. It measures the CPU time of the node, because on a busy machine the node does less in the same wall time.
 */
export class AttackClock {
  readonly #goal: Goal
  readonly #progress: Progress
  readonly #leastMs: number
  readonly #now: () => number
  readonly #begun: number
  #sum = -1
  #highestMb = 0
  #moved: Change
  #grown: Change

  constructor(goal: Goal = {}, progress: Progress, leastMs: number, now: () => number = () => performance.now()) {
    this.#goal = goal
    this.#progress = progress
    this.#leastMs = leastMs
    this.#now = now
    this.#begun = now()
    this.#moved = { at: this.#begun, cpuMs: 0 }
    this.#grown = this.#moved
  }

  /** Has to be polled, to observe progress. */
  isOver({ peakMb, cpuMs }: NodeSample): boolean {
    const now: Change = { at: this.#now(), cpuMs }
    this.#look(now, peakMb)
    const elapsed = now.at - this.#begun
    if (elapsed < this.#leastMs) return false
    if (elapsed >= Math.max(patienceMs, this.#leastMs)) return true
    // Sent data may still be in flight.
    if (this.#isReached()) return cpuMs - this.#grown.cpuMs >= stillCpuMs || isIdle(this.#grown, now)
    const changed = this.#moved.at > this.#grown.at ? this.#moved : this.#grown
    return cpuMs - changed.cpuMs >= stallCpuMs || isIdle(changed, now)
  }

  #look(now: Change, peakMb: number): void {
    const { connections, bytes, answered } = this.#progress
    const sum = connections + bytes + answered
    if (sum !== this.#sum) this.#moved = now
    this.#sum = sum
    if (peakMb < this.#highestMb + growthMb) return
    this.#highestMb = peakMb
    this.#grown = now
  }

  #isReached(): boolean {
    const { megabytes = 0, answers = 0 } = this.#goal
    return this.#progress.bytes >= megabytes * 1e6 && this.#progress.answered >= answers
  }
}

function isIdle(since: Change, now: Change): boolean {
  const elapsed = now.at - since.at
  return elapsed >= idleMs && now.cpuMs - since.cpuMs < elapsed * idleShare
}
