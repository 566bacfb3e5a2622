import { limits } from '../../base/limits.ts'
import { ClockEras } from './clock-eras.ts'
import type { ClockRecord } from './clock-record.ts'

/** The clocks at one moment. */
export interface ClockReading {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly wall: number
  /** The monotonic clock, in milliseconds. */
  readonly steadyMs: number
}

/** Why the wall clock may be wrong. */
export interface ClockDoubt {
  readonly detail: string
  /** Whether the operator has to do something about it: not if the node may just have been stopped for long. */
  readonly isProblem: boolean
}

/** What was found when the clocks were compared. */
export interface ClockState {
  /** Why events are not removed for their age; undefined when the clock is trusted. The same object for one doubt. */
  readonly doubt: ClockDoubt | undefined
  /** By how many microseconds the wall clock was set since the last check. */
  readonly setBy: number | undefined
}

/** What is known about the clock before a start. */
export interface ClockPast {
  readonly record: ClockRecord | undefined
  /** Whether there are own events. */
  readonly hasEvents: boolean
  /** The timestamp of the newest own event, in microseconds. */
  readonly newest: number | undefined
}

/**
 * Decides how old events are, and whether that is known well enough to remove them for their age. A change of the wall
 * clock while the node runs is measured with the monotonic clock, and subtracted. A change while it was stopped cannot be
 * told from the time that has passed, so its operator, or a time server, gets time to correct it.
 */
export class ClockTrust {
  #eras = new ClockEras()
  /** By how much the wall clock is ahead of the monotonic clock in this era, in microseconds. */
  #difference: number
  #checkedMs: number
  /** A change before the first check. */
  #setBefore: number | undefined
  /** The reading of the monotonic clock up to which the clock is doubted. */
  #doubtedUntil = Number.NEGATIVE_INFINITY
  #doubt: ClockDoubt | undefined
  #ahead: ClockDoubt | undefined

  constructor({ wall, steadyMs }: ClockReading) {
    this.#difference = wall - steadyMs * 1000
    this.#checkedMs = steadyMs
  }

  get eras(): ClockEras {
    return this.#eras
  }

  /**
   * Compares the wall clock at the start of a node with the last time that was stored.
   * @param tolerance as for `check`
   */
  recall({ record, hasEvents, newest }: ClockPast, reading: ClockReading, tolerance: number = limits.clockJump): void {
    if (record !== undefined) this.#continue(record, reading, tolerance)
    else if (hasEvents) {
      this.#eras.begin({ to: reading.wall + tolerance, from: reading.wall - tolerance })
      if (newest !== undefined) this.#compare(newest, reading)
    }
  }

  /**
   * Called at least once per `maxAge / 2`, before events are removed.
   * @param aheadOfPeers for each connected peer: by how many microseconds the wall clock is ahead of that of the peer
   * @param tolerance the difference in microseconds from which on ages are corrected, at most `limits.clockJump`
   */
  check(
    { wall, steadyMs }: ClockReading,
    aheadOfPeers: readonly number[] = [],
    tolerance: number = limits.clockJump,
  ): ClockState {
    const expected = this.#difference + steadyMs * 1000
    const change = wall - expected
    let setBy = this.#setBefore
    this.#setBefore = undefined
    // Differences add up until then: many small changes are a large one.
    if (Math.abs(change) >= tolerance) {
      const since = (steadyMs - this.#checkedMs) * 1000
      // Timestamps differ from what was expected by less than the tolerance.
      this.#eras.setBy(change, { to: expected + tolerance, from: wall - since - tolerance })
      this.#difference += change
      setBy = (setBy ?? 0) + change
    }
    this.#checkedMs = steadyMs
    const ahead = median(aheadOfPeers)
    this.#ahead = ahead >= limits.clockJump ? (this.#ahead ?? aheadBy(ahead)) : undefined
    return { doubt: this.#ahead ?? (steadyMs < this.#doubtedUntil ? this.#doubt : undefined), setBy }
  }

  /** What has to be remembered at some moment. */
  record({ wall, steadyMs }: ClockReading): ClockRecord {
    // After a start no peer is connected yet.
    const least = this.#ahead === undefined ? 0 : limits.clockSettleMs
    const doubtMs = Math.max(least, this.#doubtedUntil - steadyMs)
    return { seen: Math.max(0, wall), doubtMs, from: this.#eras.from, eras: this.#eras.ended }
  }

  /** What was stored is the time in the last era, shortly before the node was stopped. */
  #continue({ seen, doubtMs, from, eras }: ClockRecord, { wall, steadyMs }: ClockReading, tolerance: number): void {
    this.#eras = new ClockEras(from, eras)
    const jump = wall - seen
    // Events were published since it was saved, for less than the tolerance, and differ by as much from what was expected.
    const border = { to: seen + 2 * tolerance, from: wall - tolerance }
    if (jump <= -tolerance) {
      this.#eras.setBy(jump, border)
      this.#setBefore = jump
    } else if (jump >= tolerance) this.#eras.stopped(jump, border)
    // Not from the beginning again: a node that never runs for long has to remove events some day.
    if (doubtMs > 0) this.#doubtFor(doubtMs, steadyMs, { detail: 'the clock was doubted before', isProblem: false })
    else if (jump >= limits.clockJump)
      this.#doubtFor(limits.clockSettleMs, steadyMs, {
        detail: `the clock is ${seconds(jump)} seconds later than before the start: the node was stopped, or the clock was set`,
        isProblem: false,
      })
  }

  /** Nothing but events shows what the clock was before. */
  #compare(newest: number, { wall, steadyMs }: ClockReading): void {
    const jump = wall - newest
    if (jump <= -limits.clockJump)
      this.#doubtFor(limits.clockSettleMs, steadyMs, {
        detail: `the clock is ${seconds(-jump)} seconds behind the newest event of this node`,
        isProblem: true,
      })
    else if (jump >= limits.clockJump)
      this.#doubtFor(limits.clockSettleMs, steadyMs, {
        detail: `the newest event of this node is ${seconds(jump)} seconds old: the node was stopped, or the clock was set`,
        isProblem: false,
      })
  }

  #doubtFor(ms: number, steadyMs: number, { detail, isProblem }: ClockDoubt): void {
    this.#doubtedUntil = steadyMs + ms
    const minutes = Math.ceil(ms / 60_000)
    this.#doubt = { detail: `${detail}: no event is removed for its age for ${minutes} minutes`, isProblem }
  }
}

function aheadBy(micros: number): ClockDoubt {
  const detail = `the clock is ${seconds(micros)} seconds ahead of those of other nodes: no event is removed for its age until it is corrected`
  return { detail, isProblem: true }
}

function seconds(micros: number): number {
  return Math.round(micros / 1e6)
}

/** The lower one of the two in the middle of an even number; 0 without any. */
function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[(sorted.length - 1) >> 1] ?? 0
}
