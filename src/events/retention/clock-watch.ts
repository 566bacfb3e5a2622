import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventStore, StreamStatus } from '../../store/index.ts'
import type { ClockEras } from './clock-eras.ts'
import { type ClockRecord, clockRecordText, parseClockRecord } from './clock-record.ts'
import { type ClockDoubt, type ClockReading, ClockTrust } from './clock-trust.ts'

export interface ClockWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  /** By how many microseconds the wall clock is ahead of those of the connected peers. */
  readonly aheadOfPeers?: (() => readonly number[]) | undefined
  /** Called with the reason when events are not removed for their age, since the clock is doubted; then without. */
  readonly clockDoubted?: ((detail: string | undefined) => void) | undefined
}

/** The clock at one moment. */
export interface CheckedClock {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly now: number
  /** Whether the ages of events are known. */
  readonly isTrusted: boolean
}

/** Watches the clocks of a node, remembers in the store what they have shown, and reports doubts about them. */
export class ClockWatch {
  readonly #store: EventStore
  readonly #options: ClockWatchOptions
  readonly #trust: ClockTrust
  /** Why the clock is doubted, as it was last reported. */
  #reported: ClockDoubt | undefined
  /** The reading of the monotonic clock from which on it is saved again. */
  #saveFrom = Number.NEGATIVE_INFINITY
  /** Whether the clock was set, and that is not saved yet. */
  #isSet = false

  constructor(store: EventStore, options: ClockWatchOptions) {
    this.#store = store
    this.#options = options
    this.#trust = new ClockTrust(this.#read())
  }

  /** By which the ages of events are known. */
  get eras(): ClockEras {
    return this.#trust.eras
  }

  /** Compares the clock with what the last run has seen, or with the newest own event. */
  async recall(ages: readonly number[]): Promise<void> {
    const record = await this.#stored()
    const own = (await this.#store.streams()).filter(({ own, count, pruned }) => own && count > pruned)
    const newest = record === undefined && ages.length > 0 ? await this.#newestTime(own) : undefined
    this.#trust.recall({ record, hasEvents: own.length > 0, newest }, this.#read(), toleranceOf(ages))
    if (record !== undefined) this.#saveFrom = this.#options.clock.steadyMs() + saveMsOf(ages)
  }

  /**
   * Reports a doubt and a change of the clock. Ages are known by the reading that is returned: the clock may be set again
   * at once.
   * @param ages the limits of ages that are set, in seconds
   */
  check(ages: readonly number[]): CheckedClock {
    const reading = this.#read()
    const { doubt, setBy } = this.#trust.check(reading, this.#options.aheadOfPeers?.(), toleranceOf(ages))
    this.#isSet ||= setBy !== undefined
    if (setBy !== undefined && ages.length > 0)
      this.#options.log.warn(
        `the clock was set by ${Math.round(setBy / 1e6)} seconds: the ages of events are counted without that`,
      )
    this.#report(ages.length > 0 ? doubt : undefined)
    return { now: reading.wall, isTrusted: doubt === undefined }
  }

  /** Remembers what the clock shows, if that is due: at once when it was set, otherwise rarely, since it is a commit. */
  async save(ages: readonly number[]): Promise<void> {
    const reading = this.#read()
    const isDue = ages.length > 0 && reading.steadyMs >= this.#saveFrom
    if (!isDue && !this.#isSet) return
    await this.#store.saveClockRecord(clockRecordText(this.#trust.record(reading)))
    this.#isSet = false
    this.#saveFrom = reading.steadyMs + saveMsOf(ages)
  }

  async #stored(): Promise<ClockRecord | undefined> {
    const text = await this.#store.clockRecord()
    try {
      return text === undefined ? undefined : parseClockRecord(text)
    } catch (error) {
      this.#options.log.warn(messageOf(error))
      return undefined
    }
  }

  async #newestTime(streams: readonly StreamStatus[]): Promise<number | undefined> {
    try {
      const times = streams.map(
        async ({ number, count }) => (await this.#store.newestTime(number, count - 1, count - 1)).time,
      )
      return times.length > 0 ? Math.max(...(await Promise.all(times))) : undefined
    } catch (error) {
      // A damaged event must not prevent the start.
      this.#options.log.warn(`the clock cannot be compared with the newest event: ${messageOf(error)}`)
      return undefined
    }
  }

  #report(doubt: ClockDoubt | undefined): void {
    if (doubt === this.#reported) return
    this.#reported = doubt
    this.#saveFrom = Number.NEGATIVE_INFINITY
    const { log, clockDoubted } = this.#options
    if (doubt === undefined) log.info('the clock is trusted again: events are removed for their age')
    else if (doubt.isProblem) log.warn(doubt.detail)
    else log.info(doubt.detail)
    clockDoubted?.(doubt?.isProblem === true ? doubt.detail : undefined)
  }

  #read(): ClockReading {
    const { clock } = this.#options
    return { wall: clock.now(), steadyMs: clock.steadyMs() }
  }
}

/** Half of the shortest `maxAge`: a larger difference could remove events long before their limit. */
function toleranceOf(ages: readonly number[]): number {
  return Math.min(limits.clockJump, ...ages.map((seconds) => (seconds * 1e6) / 2))
}

/** More often than the tolerance, so that a stored time is not older than that when the node is stopped. */
function saveMsOf(ages: readonly number[]): number {
  return Math.min(limits.clockSaveMs, ...ages.map((seconds) => (seconds * 1000) / 4))
}
