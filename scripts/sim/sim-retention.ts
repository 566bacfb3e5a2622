import assert from 'node:assert/strict'
import { type Events, retentionInterval } from '../../src/events/index.ts'
import type { StreamSettings } from '../../src/events/retention/index.ts'
import type { Timer, Timers } from '../../src/runtime/timers.ts'
import type { Agenda, SimClock } from './agenda.ts'
import type { Ledger } from './ledger.ts'
import { isRefusal } from './recorded-store.ts'

/** A clock that is set by less than half of the age limit may let events be removed that much too early. */
const leastAge = 0.5

/** The numbers of the streams with limits: `default`, `app` and `files`, in the order in which they are assigned. */
export const limitedStreams: readonly number[] = [0, 1, 4]

export interface SimRetentionOptions {
  readonly label: string
  readonly ledger: Ledger
  readonly agenda: Agenda
  readonly clock: SimClock
  readonly timers: Timers
}

/** Lets a node remove events for their age, and checks that it does not do so too early. */
export class SimRetention {
  readonly #options: SimRetentionOptions
  #events: Events | undefined
  #timer: Timer | undefined
  #maxAgeMs: number | undefined
  /** What the clock was set to when the node last compared it. */
  #comparedWall: number | undefined
  /** Whether the clock was set before any limit of age, and that was not noticed: no node remembers the clock then. */
  #isClockLost = false
  #isStopped = false
  #isRunning = false

  constructor(options: SimRetentionOptions) {
    this.#options = options
  }

  get settings(): StreamSettings {
    if (this.#maxAgeMs === undefined) return {}
    const limited = { maxEvents: 0, maxSize: '0', maxAge: `${this.#maxAgeMs / 1000}s` }
    return { default: limited, app: limited, files: limited }
  }

  /** The operator limits the age of events in all streams. */
  limit(maxAgeMs: number): void {
    this.#maxAgeMs = maxAgeMs
    if (this.#events !== undefined) this.start(this.#events)
  }

  get maxAgeMs(): number | undefined {
    return this.#maxAgeMs
  }

  /** The node has started, or has other settings. */
  start(events: Events): void {
    const { timers } = this.#options
    this.#events = events
    events.streams = this.settings
    timers.clear(this.#timer)
    if (this.#isStopped) return
    this.#timer = timers.setInterval(() => this.#run(events), retentionInterval(this.settings))
    this.#run(events)
  }

  /** The node is being restarted. */
  pause(): void {
    const isSet = this.#comparedWall !== undefined && this.#comparedWall !== this.#options.clock.wallAtStart
    if (isSet && this.#maxAgeMs === undefined) this.#isClockLost = true
    this.#events = undefined
    this.#options.timers.clear(this.#timer)
  }

  /** From now on nothing is removed. */
  stop(): void {
    this.#isStopped = true
    this.#options.timers.clear(this.#timer)
  }

  #run(events: Events): void {
    if (this.#isRunning) return
    this.#isRunning = true
    const { wallAtStart } = this.#options.clock
    const done = events.prune().finally(() => {
      this.#isRunning = false
      this.#comparedWall = wallAtStart
    })
    done.catch((error) => {
      // It may have been restarted.
      if (this.#events === events && !isRefusal(error)) this.#options.agenda.fail(error)
    })
  }

  /** Fails if events are pruned that are too young. */
  check(stream: string, count: number): void {
    const { ledger, label, agenda } = this.#options
    if (this.#maxAgeMs === undefined || this.#isClockLost) return
    for (let offset = ledger.prunedOf(stream); offset < count; offset++) {
      const ageMs = agenda.nowMs - ledger.timeOf(stream, offset)
      assert.ok(ageMs >= leastAge * this.#maxAgeMs, `${label} prunes ${stream}/${offset} at an age of ${ageMs} ms`)
    }
  }
}
