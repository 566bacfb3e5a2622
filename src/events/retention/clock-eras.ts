import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'

/** A period that has ended, in which the wall clock was not set. Times in microseconds. */
export interface ClockEra {
  /** What the wall clock showed at its start and at its end: the timestamps of its events are between them. */
  readonly from: number
  readonly to: number
  /** By how much the wall clock was set since: added to a timestamp of this era, it fits the clock of now. */
  readonly shift: number
  /** How long the node was stopped since, as the wall clock shows. Part of it may be a change of the clock. */
  readonly stopped: number
}

/** A timestamp as the wall clock of now would have shown it. */
export interface EffectiveTime {
  /** Microseconds since 1970. The latest one that is possible. */
  readonly time: number
  /** False if the timestamp is in several eras or in none: the event may be older. */
  readonly isCertain: boolean
}

/** What the wall clock showed at a change: up to `to` before it, from `from` on after it. */
export interface Border {
  readonly to: number
  readonly from: number
}

/**
 * The eras of the wall clock of a node: the age of an event is the time that has passed, also when the clock was set
 * since. Where that is not known exactly, an event is younger rather than older.
 */
export class ClockEras {
  /** The start of the current era. */
  #from: number
  #ended: readonly ClockEra[]

  constructor(from = 0, ended: readonly ClockEra[] = []) {
    this.#from = from
    this.#ended = ended
  }

  get from(): number {
    return this.#from
  }

  get ended(): readonly ClockEra[] {
    return this.#ended
  }

  /** The wall clock was set by some microseconds, or more of them backwards. */
  setBy(change: number, border: Border): void {
    this.#end(border, (era) => {
      // A clock that is set back was set ahead while the node seemed to be stopped, if that is possible.
      const undone = Math.min(era.stopped, Math.max(0, -change))
      return { ...era, shift: era.shift + change + undone, stopped: era.stopped - undone }
    })
  }

  /** The node was stopped for some microseconds, or the clock was set ahead by up to as much meanwhile. */
  stopped(micros: number, border: Border): void {
    assert(micros >= 0, 'a stop takes time')
    this.#end(border, (era) => ({ ...era, stopped: era.stopped + micros }))
  }

  /** How the clock was set before is unknown. */
  begin(border: Border): void {
    this.#end(border, (era) => ({ ...era, stopped: Number.MAX_SAFE_INTEGER }))
  }

  timeOf(timestamp: number, now: number): EffectiveTime {
    const shifts = this.#upTo(now)
      .filter(({ from, to }) => from <= timestamp && timestamp <= to)
      .map(({ shift }) => shift)
    const shift = Math.max(...shifts)
    // An unknown era: from before anything was remembered.
    if (shifts.length === 0) return { time: timestamp + this.#largestShift, isCertain: false }
    return { time: timestamp + shift, isCertain: shifts.every((other) => other === shift) }
  }

  /** The latest time that an event can have whose timestamp is not after the given one. */
  latestUpTo(timestamp: number, now: number): number {
    const begun = this.#upTo(now).filter(({ from }) => from <= timestamp)
    const times = begun.map(({ to, shift }) => Math.min(timestamp, to) + shift)
    return Math.max(this.timeOf(timestamp, now).time, ...times)
  }

  /** All eras. The clock may have been set back a little within the current one. */
  #upTo(now: number): Pick<ClockEra, 'from' | 'to' | 'shift'>[] {
    return [...this.#ended, { from: this.#from, to: now + limits.clockJump, shift: 0 }]
  }

  get #largestShift(): number {
    return Math.max(0, ...this.#ended.map(({ shift }) => shift))
  }

  #end({ from, to }: Border, change: (era: ClockEra) => ClockEra): void {
    const eras = [...this.#ended, { from: this.#from, to, shift: 0, stopped: 0 }].map(change)
    this.#from = Math.max(0, from)
    this.#ended = eras.length > limits.clockEras ? withoutOne(eras) : eras
  }
}

/** Joins the two eras whose shifts differ least: the events of both then have the larger one. */
function withoutOne(eras: readonly ClockEra[]): ClockEra[] {
  const sorted = eras.toSorted((a, b) => a.shift - b.shift)
  const differences = sorted.slice(1).map(({ shift }, i) => shift - (sorted[i] as ClockEra).shift)
  const at = differences.indexOf(Math.min(...differences))
  const [a, b] = sorted.slice(at, at + 2)
  assert(a !== undefined && b !== undefined, 'there are two eras to join')
  const joined = {
    from: Math.min(a.from, b.from),
    to: Math.max(a.to, b.to),
    shift: b.shift,
    stopped: Math.max(a.stopped, b.stopped),
  }
  return sorted.toSpliced(at, 2, joined)
}
