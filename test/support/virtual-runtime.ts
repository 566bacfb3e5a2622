import { Random as Choices } from '../../scripts/crash/random.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Random } from '../../src/runtime/random.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import type { Timer, Timers } from '../../src/runtime/timers.ts'

/** 2024-01-01, in microseconds. */
const start = 1_704_067_200_000_000

/** A clock that only moves when it is advanced. The wall clock can be set, the steady one cannot. */
export class VirtualClock implements Clock {
  #wall: number
  #steadyMs = 0

  constructor(wall = start) {
    this.#wall = wall
  }

  readonly now = (): number => this.#wall
  readonly steadyMs = (): number => this.#steadyMs

  advance(ms: number): void {
    this.#wall += ms * 1000
    this.#steadyMs += ms
  }

  /** Sets the wall clock, as a person or a time server does. */
  set(wall: number): void {
    this.#wall = wall
  }
}

interface VirtualTimer extends Timer {
  readonly work: () => void
  readonly delayMs: number
  readonly isInterval: boolean
  dueMs: number
  /** Timers with the same deadline fire in the order in which they were set. */
  order: number
}

/** Timers that fire while the clock is advanced, in the order of their deadlines. */
export class VirtualTimers implements Timers {
  readonly #clock: VirtualClock
  readonly #pending = new Set<VirtualTimer>()
  #set = 0

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  get pending(): number {
    return this.#pending.size
  }

  setTimeout(work: () => void, ms: number): Timer {
    return this.#start(work, ms, false)
  }

  setInterval(work: () => void, ms: number): Timer {
    return this.#start(work, ms, true)
  }

  setImmediate(work: () => void): void {
    this.#start(work, 0, false)
  }

  clear(timer: Timer | undefined): void {
    this.#pending.delete(timer as VirtualTimer)
  }

  /** Advances the clock; every timer fires at its deadline. */
  advance(ms: number): void {
    const end = this.#clock.steadyMs() + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#clock.advance(Math.max(0, next.dueMs - this.#clock.steadyMs()))
      if (next.isInterval) this.#schedule(next)
      else this.#pending.delete(next)
      next.work()
    }
    this.#clock.advance(end - this.#clock.steadyMs())
  }

  #start(work: () => void, ms: number, isInterval: boolean): VirtualTimer {
    const timer: VirtualTimer = {
      work,
      isInterval,
      // At least 1 ms, as in Node: an interval of 0 would never let time pass.
      delayMs: isInterval ? Math.max(1, ms) : ms,
      dueMs: 0,
      order: 0,
      refresh: () => this.#schedule(timer),
      unref: () => timer,
    }
    this.#schedule(timer)
    return timer
  }

  #schedule(timer: VirtualTimer): void {
    timer.dueMs = this.#clock.steadyMs() + timer.delayMs
    timer.order = this.#set++
    this.#pending.add(timer)
  }

  #next(until: number): VirtualTimer | undefined {
    const [first] = [...this.#pending]
      .filter(({ dueMs }) => dueMs <= until)
      .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)
    return first
  }
}

/** Seeded random bytes. */
export class SeededRandom implements Random {
  readonly #choices: Choices

  constructor(seed: string) {
    this.#choices = new Choices(seed)
  }

  bytes(length: number): Buffer<ArrayBuffer> {
    return Buffer.from(Array.from({ length }, () => this.#choices.below(256)))
  }
}

export interface VirtualRuntime extends Runtime {
  readonly clock: VirtualClock
  readonly timers: VirtualTimers
}

/** Clock, timers and random numbers of one simulated run, reproducible by its seed. */
export function virtualRuntime(seed = 'virtual'): VirtualRuntime {
  const clock = new VirtualClock()
  return { clock, timers: new VirtualTimers(clock), random: new SeededRandom(seed) }
}
