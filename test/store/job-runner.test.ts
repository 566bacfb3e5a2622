import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import type { Timers } from '../../src/runtime/timers.ts'
import type { Job } from '../../src/store/jobs/job.ts'
import { JobRunner } from '../../src/store/jobs/job-runner.ts'
import type { EventReader } from '../../src/store/port/index.ts'

/** What a job does: its total run time, and how it writes. */
interface Work {
  readonly ms: number
  /** A full piece is written after each of these milliseconds; without it there is one line at the end. */
  readonly pieceMs?: number
}

/** A runner with a simulated clock, which jobs advance by running. */
class World {
  now = 0
  /** What was sent, and when. */
  readonly sent: { readonly id: number; readonly at: number; readonly what: 'piece' | 'end' }[] = []
  /** The slices, by job. */
  readonly slices: { readonly id: number; readonly ms: number }[] = []
  /** Messages that have arrived and wait for the event loop. */
  readonly #messages: { readonly at: number; readonly deliver: () => void }[] = []
  readonly #immediates: (() => void)[] = []
  readonly #runner: JobRunner

  constructor({ hasSignal = true }: { readonly hasSignal?: boolean } = {}) {
    const setImmediate = (callback: () => void): void => void this.#immediates.push(callback)
    this.#runner = new JobRunner({
      reader: {} as EventReader,
      jobs: { makers: { work: (_, request) => this.#job(request as Work & { id: number }) } },
      account: MemoryAccount.create(2 ** 20),
      runtime: {
        clock: { now: () => this.now * 1000, steadyMs: () => this.now },
        timers: { setImmediate } as unknown as Timers,
      },
      output: {
        started: () => {},
        written: (pieces) => {
          for (const { id } of pieces) this.sent.push({ id, at: this.now, what: 'piece' })
        },
        ended: (id, outcome) => {
          deepEqual(outcome, {})
          this.sent.push({ id, at: this.now, what: 'end' })
        },
      },
      ...(hasSignal && { hasMessages: () => this.#messages.some(({ at }) => at <= this.now) }),
    })
  }

  /** Posts a job at a time in the future. */
  post(at: number, id: number, work: Work): void {
    this.#messages.push({ at, deliver: () => this.#runner.start(id, 'work', { ...work, id }) })
  }

  /** Runs the event loop up to a time. */
  run(until: number): void {
    while (this.now < until) {
      for (const message of this.#messages.filter(({ at }) => at <= this.now)) {
        this.#messages.splice(this.#messages.indexOf(message), 1)
        message.deliver()
      }
      const immediates = this.#immediates.splice(0)
      for (const callback of immediates) callback()
      if (immediates.length === 0) this.now += 0.1
    }
  }

  endOf(id: number): number {
    return this.sent.find((one) => one.id === id && one.what === 'end')?.at ?? Number.POSITIVE_INFINITY
  }

  ranMs(id: number): number {
    return this.slices.filter((slice) => slice.id === id).reduce((sum, { ms }) => sum + ms, 0)
  }

  #job({ id, ms, pieceMs = Number.POSITIVE_INFINITY }: Work & { id: number }): Job {
    let [left, toPiece] = [ms, pieceMs]
    let written = 0
    return {
      begin: () => {
        written = 0
        this.slices.push({ id, ms: 0 })
      },
      get isFull() {
        return written > 1
      },
      run: (deadline) => {
        ok(written <= 1, 'a job with a full piece is not run')
        const ran = Math.max(0.1, Math.min(deadline - this.now, left, toPiece))
        this.now += ran
        left -= ran
        toPiece -= ran
        const last = this.slices.at(-1)
        if (last !== undefined) this.slices[this.slices.length - 1] = { id, ms: last.ms + ran }
        if (toPiece < 0.01) {
          toPiece = pieceMs
          written = 2
        }
        if (left > 0.01) return 'busy'
        written = Math.max(written, 1)
        return 'done'
      },
      take: () => new Uint8Array(written),
    }
  }
}

const forever = 1_000_000

test('a short query beside long ones starts after at most a millisecond, and its result is sent when it ends', () => {
  for (const arrival of [100, 103.3, 107.77, 109.99]) {
    const world = new World()
    for (let id = 1; id <= 4; id++) world.post(0, id, { ms: forever })
    world.post(arrival, 5, { ms: 1.5 })
    world.run(300)
    const took = world.endOf(5) - arrival
    ok(took <= tuning.longSliceMs + 1.5 + 0.5, `it took ${took} ms`)
  }
})

test('a query of several slices beside long ones gets them one after the other', () => {
  const world = new World()
  for (let id = 1; id <= 4; id++) world.post(0, id, { ms: forever })
  world.post(104, 5, { ms: 15 })
  world.run(300)
  const took = world.endOf(5) - 104
  ok(took <= tuning.longSliceMs + 15 + 0.5, `it took ${took} ms`)
})

test('without new messages a long query runs for whole slices', () => {
  const world = new World()
  world.post(0, 1, { ms: forever })
  world.run(1000)
  for (const { ms } of world.slices.slice(1, -1)) ok(Math.abs(ms - tuning.sliceMs) < 0.01, `a slice took ${ms} ms`)
})

test('a slice ends with a full piece', () => {
  const world = new World()
  world.post(0, 1, { ms: 30, pieceMs: 3 })
  world.run(100)
  deepEqual(
    world.slices.map(({ ms }) => Math.round(ms)),
    Array.from({ length: 10 }, () => 3),
  )
  equal(world.sent.filter(({ what }) => what === 'piece').length, 10)
})

test('a flood of short queries leaves long ones their share', () => {
  const world = new World()
  for (let id = 1; id <= 4; id++) world.post(0, id, { ms: forever })
  // More than one thread can run.
  for (let i = 0; i < 2000; i++) world.post(100 + i, 10 + i, { ms: 1.5 })
  world.run(2100)
  const longMs = [1, 2, 3, 4].reduce((sum, id) => sum + world.ranMs(id), -100)
  const expected = (2000 * tuning.sliceMs) / (tuning.starvingMs + tuning.sliceMs)
  ok(longMs > expected * 0.8, `long queries ran for ${longMs} of 2000 ms`)
  for (let id = 1; id <= 4; id++) ok(world.ranMs(id) > longMs / 8, `query ${id} ran for ${world.ranMs(id)} ms`)
})

test('a new query is not interrupted by newer ones before its first slice is used up', () => {
  const world = new World()
  world.post(0, 1, { ms: 1.9 })
  world.post(0.5, 2, { ms: 1.9 })
  world.run(10)
  deepEqual(
    world.slices.map(({ id }) => id),
    [1, 2],
  )
})

test('without a signal of messages, a short query waits for one slice of a long one', () => {
  const world = new World({ hasSignal: false })
  for (let id = 1; id <= 4; id++) world.post(0, id, { ms: forever })
  world.post(101, 5, { ms: 1.5 })
  world.run(300)
  ok(world.endOf(5) - 101 <= tuning.sliceMs + 1.5 + 0.5)
})
