import { limits } from '../../base/limits.ts'

/** The clocks at one moment. */
export interface ClockReading {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly wall: number
  /** The monotonic clock, in milliseconds. */
  readonly steadyMs: number
  /** For each connected peer: by how many microseconds the wall clock is ahead of that of the peer. */
  readonly aheadOfPeers: readonly number[]
}

/** Why the wall clock may be wrong. */
export interface ClockDoubt {
  readonly detail: string
  /** Whether the operator has to do something about it: not if the node may just have been stopped for long. */
  readonly isProblem: boolean
}

/** Decides whether the wall clock is trusted enough to remove events for their age. Told what the clocks show. */
export class ClockTrust {
  /** By how much the wall clock is ahead of the monotonic clock, in microseconds. */
  #difference: number
  /** The reading of the monotonic clock up to which a change is doubted: the operator needs time to correct it. */
  #doubtedUntil = Number.NEGATIVE_INFINITY
  #doubt: ClockDoubt | undefined
  #ahead: ClockDoubt | undefined

  constructor(reading: Omit<ClockReading, 'aheadOfPeers'>) {
    this.#difference = differenceOf(reading)
  }

  /** Compares the wall clock at the start of a node with the last time that it has stored, in microseconds. */
  recall(last: number, { wall, steadyMs }: Omit<ClockReading, 'aheadOfPeers'>): void {
    const jump = wall - last
    if (jump <= -limits.clockJump)
      this.#doubtFrom(steadyMs, {
        detail: `the clock is ${seconds(-jump)} seconds behind the newest event of this node`,
        isProblem: true,
      })
    else if (jump >= limits.clockJump)
      this.#doubtFrom(steadyMs, {
        detail: `the newest event of this node is ${seconds(jump)} seconds old: the node was stopped, or the clock was set`,
        isProblem: false,
      })
  }

  /**
   * The doubt about the wall clock now; undefined when it is trusted. The same object as long as there is no other one.
   * @param tolerance the change in microseconds from which on it is doubted, at most `limits.clockJump`
   */
  check(reading: ClockReading, tolerance: number = limits.clockJump): ClockDoubt | undefined {
    const jump = differenceOf(reading) - this.#difference
    this.#difference += jump
    if (Math.abs(jump) >= tolerance)
      this.#doubtFrom(reading.steadyMs, { detail: `the clock was set by ${seconds(jump)} seconds`, isProblem: true })
    const ahead = median(reading.aheadOfPeers)
    this.#ahead = ahead >= limits.clockJump ? (this.#ahead ?? aheadBy(ahead)) : undefined
    return this.#ahead ?? (reading.steadyMs < this.#doubtedUntil ? this.#doubt : undefined)
  }

  #doubtFrom(steadyMs: number, { detail, isProblem }: ClockDoubt): void {
    this.#doubtedUntil = steadyMs + limits.clockSettleMs
    const minutes = limits.clockSettleMs / 60_000
    this.#doubt = { detail: `${detail}: no event is removed for its age for ${minutes} minutes`, isProblem }
  }
}

function aheadBy(micros: number): ClockDoubt {
  const detail = `the clock is ${seconds(micros)} seconds ahead of those of other nodes: no event is removed for its age until it is corrected`
  return { detail, isProblem: true }
}

function differenceOf({ wall, steadyMs }: Omit<ClockReading, 'aheadOfPeers'>): number {
  return wall - steadyMs * 1000
}

function seconds(micros: number): number {
  return Math.round(micros / 1e6)
}

/** The lower one of the two in the middle of an even number; 0 without any. */
function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[(sorted.length - 1) >> 1] ?? 0
}
