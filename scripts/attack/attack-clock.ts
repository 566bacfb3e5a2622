import type { Goal } from './attack.ts'

/** What has been sent and answered so far. */
interface Progress {
  readonly connections: number
  readonly bytes: number
  readonly answered: number
}

/** How the node does. */
export interface NodeSample {
  /** The peak of its memory so far, in megabytes. */
  readonly peakMb: number
  /** The CPU time of all its threads so far, in milliseconds. */
  readonly cpuMs: number
}

/** A moment at which something has changed. */
interface Change {
  readonly at: number
  readonly cpuMs: number
}

/** Megabytes by which memory has to grow to be seen as growing. */
const growthMb = 16
/** Milliseconds of CPU time without growth after which an attack that has sent everything is over. */
const stillCpuMs = 1000
/** Milliseconds of CPU time without progress or growth after which the node takes no more. */
const stallCpuMs = 3000
/** Milliseconds after which a node that does nothing and takes nothing will not do so any more. */
const idleMs = 1500
/** The share of one core below which a node does nothing. */
const idleShare = 0.1
/** Milliseconds that an attack gets to reach its goal, when its time is shorter. */
const patienceMs = 45_000

/**
 * Says when an attack is over: its time has passed, it has reached its goal or cannot get further, and memory does not grow.
 * The CPU time of the node is what counts, since a busy machine lets it do less in the same time.
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

  /** Has to be asked again and again, to see whether anything moves. */
  isOver({ peakMb, cpuMs }: NodeSample): boolean {
    const now: Change = { at: this.#now(), cpuMs }
    this.#look(now, peakMb)
    const elapsed = now.at - this.#begun
    if (elapsed < this.#leastMs) return false
    if (elapsed >= Math.max(patienceMs, this.#leastMs)) return true
    // What was sent may still be on its way to where it is held.
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
