import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { ClockEras } from '../../src/events/retention/clock-eras.ts'
import { clockRecordText, parseClockRecord } from '../../src/events/retention/clock-record.ts'
import { ClockTrust } from '../../src/events/retention/clock-trust.ts'
import * as fc from '../support/property.ts'

const tolerance = 60e6
const day = 86_400e6

/** A node and its clocks, with the true times of its events. In microseconds. */
class Life {
  now = 50 * 365 * day
  /** By how much the wall clock is wrong. */
  wrong = 0
  stoppedFor = 0
  readonly events: { readonly at: number; readonly timestamp: number }[] = []
  #startedAt = this.now
  trust = new ClockTrust(this.reading)
  #saved = ''

  get wall(): number {
    return this.now + this.wrong
  }

  get reading() {
    return { wall: this.wall, steadyMs: (this.now - this.#startedAt) / 1000 }
  }

  publish(): void {
    this.events.push({ at: this.now, timestamp: this.wall })
  }

  check(): void {
    this.trust.check(this.reading, [], tolerance)
    this.#saved = clockRecordText(this.trust.record(this.reading))
  }

  /** It starts without a record. */
  begin(): void {
    this.trust = new ClockTrust(this.reading)
    this.trust.recall({ record: undefined, hasEvents: true, newest: undefined }, this.reading, tolerance)
  }

  restart(stopped: number, set: number): void {
    this.now += stopped
    this.wrong += set
    this.stoppedFor += stopped
    this.#startedAt = this.now
    this.trust = new ClockTrust(this.reading)
    this.trust.recall(
      { record: parseClockRecord(this.#saved), hasEvents: true, newest: undefined },
      this.reading,
      tolerance,
    )
  }

  /** By how much an event is older than it seems to be; negative if it is younger. */
  lateness({ at, timestamp }: Life['events'][number]): number {
    return this.now - at - (this.wall - this.trust.eras.timeOf(timestamp, this.wall).time)
  }
}

type Step =
  | { readonly is: 'run'; readonly passed: number; readonly set: number }
  | { readonly is: 'restart'; readonly stopped: number; readonly back: number }

const change = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 3 * 86_400 }).map((seconds) => seconds * 1e6) },
  { weight: 1, arbitrary: fc.constantFrom(40 * 365 * day, 74 * 365 * day) },
)
const signed = fc.tuple(change, fc.boolean()).map(([size, isBack]) => (isBack ? -size : size))
const duration = (max: number) => fc.integer({ min: 0, max }).map((seconds) => seconds * 1e6)
const running = fc.record({ is: fc.constant('run' as const), passed: duration(86_400), set: signed })
const restart = fc.record({ is: fc.constant('restart' as const), stopped: duration(3 * 86_400), back: change })
const steps = (max: number) =>
  fc.array(fc.oneof({ weight: 3, arbitrary: running }, { weight: 1, arbitrary: restart }), { maxLength: max })

function live(list: readonly Step[]): Life {
  const life = new Life()
  life.check()
  for (const step of list) {
    life.publish()
    if (step.is === 'run') {
      life.now += step.passed
      life.publish()
      // A clock before 1970 cannot be set.
      life.wrong = Math.max(life.wrong + step.set, -life.now)
      life.publish()
      life.check()
    } else {
      // Less than the interval of saving has passed.
      life.now += tolerance / 2
      life.publish()
      life.restart(step.stopped, -Math.min(step.back, life.wall))
      life.check()
    }
  }
  return life
}

test('however the clock is set while a node runs, or back while it is stopped, no event is younger than it seems', () => {
  fc.assert(
    fc.property(steps(60), (list) => {
      const life = live(list)
      for (const event of life.events) assert.ok(life.lateness(event) >= -2 * tolerance, `${life.lateness(event)}`)
      const byTimestamp = life.events.toSorted((a, b) => a.timestamp - b.timestamp)
      let latest = Number.NEGATIVE_INFINITY
      for (const { at, timestamp } of byTimestamp) {
        latest = Math.max(latest, at + life.wrong)
        assert.ok(life.trust.eras.latestUpTo(timestamp, life.wall) >= latest - 2 * tolerance)
      }
    }),
  )
})

test('an event with one possible age seems younger at most by twice the time for which the node was stopped', () => {
  fc.assert(
    fc.property(steps(limits.clockEras), (list) => {
      const life = live(list)
      const { eras } = life.trust
      const certain = life.events.filter(({ timestamp }) => eras.timeOf(timestamp, life.wall).isCertain)
      for (const event of certain) assert.ok(life.lateness(event) <= 2 * (life.stoppedFor + tolerance * list.length))
    }),
  )
})

test('a change of the clock makes no event older that was there before anything was remembered', () => {
  fc.assert(
    fc.property(signed, signed, (before, after) => {
      const life = new Life()
      life.publish()
      life.wrong += before
      life.publish()
      life.begin()
      life.publish()
      life.wrong += after
      life.publish()
      life.check()
      for (const event of life.events.slice(1)) assert.ok(life.lateness(event) >= -2 * tolerance)
      // How the clock was set before cannot be known.
      const first = life.events[0] as Life['events'][number]
      assert.ok(life.lateness(first) >= -2 * tolerance - Math.max(0, before))
    }),
  )
})

test('a clock that was set ahead while the node was stopped, and is corrected while it runs, makes no event older', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), duration(86_400), (days, stopped) => {
      const life = new Life()
      life.publish()
      life.check()
      life.restart(stopped, days * day)
      life.check()
      life.publish()
      life.now += 600e6
      life.wrong = 0
      life.check()
      for (const event of life.events) assert.ok(Math.abs(life.lateness(event)) <= 2 * tolerance)
    }),
  )
})

test('the number of eras is limited, and events of joined ones are no younger than they seem', () => {
  const eras = new ClockEras()
  const events: { timestamp: number; written: number }[] = []
  let wall = 1e15
  for (let i = 0; i < 5 * limits.clockEras; i++) {
    events.push({ timestamp: wall, written: wall })
    eras.setBy(day, { to: wall, from: wall + day })
    for (const event of events) event.written += day
    wall += 2 * day
    assert.ok(eras.ended.length <= limits.clockEras)
    for (const { timestamp, written } of events) assert.ok(eras.timeOf(timestamp, wall).time >= written)
  }
})
