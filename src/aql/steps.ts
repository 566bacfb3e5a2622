/** A computation that gives way at every `yield`, so that it never holds the thread for long. */
export type Steps<T> = Generator<undefined, T>

/** Computes to the end in one go: for those who have all the time, and for tests. */
export function finish<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** Units of work between two yields: what takes about a microsecond is one. */
export const unitsPerStep = 1024

/** Counts units of work. A computation whose size depends on its input does `if (pace.isDue(units)) yield`. */
export class Pace {
  #left = unitsPerStep

  isDue(units = 1): boolean {
    this.#left -= units
    if (this.#left > 0) return false
    this.#left = unitsPerStep
    return true
  }
}

/**
 * Steps whose parts may nest deeply. Every `yield*` takes a piece of the stack, so from time to time a part becomes a
 * segment: it is yielded, runs with an empty stack, and has its result when whoever yielded it goes on.
 */
export type Nested<T> = Generator<Segment<unknown> | undefined, T>

export class Segment<T> {
  readonly steps: Nested<T>
  result: T | undefined

  constructor(steps: Nested<T>) {
    this.steps = steps
  }
}

/** Runs steps that nest, with all their segments. */
export function* unrolled<T>(steps: Nested<T>): Steps<T> {
  const around: Segment<unknown>[] = []
  const whole = new Segment(steps)
  let current: Segment<unknown> | undefined = whole
  while (current !== undefined) {
    const step: IteratorResult<Segment<unknown> | undefined, unknown> = current.steps.next()
    if (step.done === true) {
      current.result = step.value
      current = around.pop()
    } else if (step.value !== undefined) {
      around.push(current)
      current = step.value
    } else yield
  }
  return whole.result as T
}
