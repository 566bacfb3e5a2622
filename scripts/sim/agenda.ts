import type { Clock } from '../../src/runtime/clock.ts'
import type { Timer, Timers } from '../../src/runtime/timers.ts'

/** Steps at one point in time after which a simulation is stuck. */
const maxSteps = 100_000

interface Entry {
  readonly atMs: number
  /** Entries with the same time run in the order in which they were added. */
  readonly order: number
  readonly work: () => void
  isCancelled: boolean
}

/** What happens when, in virtual time: a queue by time. Everything that is timed in a simulation goes through it. */
export class Agenda {
  readonly #heap: Entry[] = []
  #nowMs = 0
  #added = 0
  #steps = 0
  #failure: Error | undefined

  get nowMs(): number {
    return this.#nowMs
  }

  after(ms: number, work: () => void): Entry {
    const entry = { atMs: this.#nowMs + Math.max(0, ms), order: this.#added++, work, isCancelled: false }
    this.#push(entry)
    return entry
  }

  /** Lets the simulation fail with an error of asynchronous work, at the next step. */
  readonly fail = (error: unknown): void => {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
  }

  /** Runs the next entry, and waits until the promises that it settles are handled. Returns false when there is none. */
  async step(untilMs: number): Promise<boolean> {
    let next = this.#pop(untilMs)
    while (next?.isCancelled === true) next = this.#pop(untilMs)
    if (next === undefined) {
      this.#nowMs = Math.max(this.#nowMs, untilMs)
      return false
    }
    this.#steps = next.atMs > this.#nowMs ? 0 : this.#steps + 1
    if (this.#steps > maxSteps) throw new Error(`time stands still at ${this.#nowMs} ms`)
    this.#nowMs = next.atMs
    next.work()
    await settled()
    if (this.#failure !== undefined) throw this.#failure
    return true
  }

  async runUntil(ms: number): Promise<void> {
    while (await this.step(ms)) {
      // The work is done by the step.
    }
  }

  #isBefore(a: Entry, b: Entry): boolean {
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let i = heap.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!this.#isBefore(entry, heap[parent] as Entry)) break
      heap[i] = heap[parent] as Entry
      i = parent
    }
    heap[i] = entry
  }

  #pop(untilMs: number): Entry | undefined {
    const heap = this.#heap
    const [first] = heap
    if (first === undefined || first.atMs > untilMs) return undefined
    const last = heap.pop() as Entry
    if (heap.length === 0) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1] as Entry, heap[child] as Entry)) child++
      if (!this.#isBefore(heap[child] as Entry, last)) break
      heap[i] = heap[child] as Entry
      i = child
    }
    heap[i] = last
    return first
  }
}

/** Resolves after all promises that are settled now were handled: nothing else in a simulation is asynchronous. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** The clock of a node. Its wall clock may be wrong, and may be set. */
export class SimClock implements Clock {
  readonly #agenda: Agenda
  /** The wall clock at the start of the simulation, in microseconds since the Unix epoch. */
  wallAtStart: number

  constructor(agenda: Agenda, wallAtStart: number) {
    this.#agenda = agenda
    this.wallAtStart = wallAtStart
  }

  readonly now = (): number => this.wallAtStart + Math.round(this.#agenda.nowMs * 1000)
  readonly steadyMs = (): number => this.#agenda.nowMs
}

/**
 * Timers in virtual time.
 * @param heldMs the milliseconds for which the process stands still
 */
export function timersOf(agenda: Agenda, heldMs: () => number = () => 0): Timers {
  const start = (work: () => void, ms: number, repeat: boolean): Timer => {
    let entry: Entry
    const due = (): void => {
      const held = heldMs()
      if (held > 0) {
        entry = agenda.after(held, due)
        return
      }
      if (repeat) set()
      work()
    }
    const set = (): void => {
      entry = agenda.after(repeat ? Math.max(1, ms) : ms, due)
    }
    set()
    const timer: Timer & { cancel(): void } = {
      refresh: () => {
        entry.isCancelled = true
        set()
      },
      unref: () => timer,
      cancel: () => {
        entry.isCancelled = true
      },
    }
    return timer
  }
  return {
    // At least one millisecond, as in Node: the sum of two times may be rounded to one that is not due yet.
    setTimeout: (work, ms) => start(work, Math.max(1, ms), false),
    setInterval: (work, ms) => start(work, ms, true),
    setImmediate: (work) => void start(work, 0, false),
    clear: (timer) => (timer as (Timer & { cancel(): void }) | undefined)?.cancel(),
  }
}
