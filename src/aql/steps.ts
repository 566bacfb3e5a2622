/** A cooperative computation: it yields often enough never to block the thread for long. */
export type Steps<T> = Generator<undefined, T>

/** Runs a computation to completion without yielding, for callers that may block and for tests. */
export function runToEnd<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** Units of work between two yields. A unit is about a microsecond. */
export const unitsPerStep = 1024

/** Counts units of work until the next yield: a loop over input does `if (pace.isDue(units)) yield`. */
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
 * Steps that may recurse deeply. Every `yield*` consumes stack, so from time to time a recursive call is deferred: it
 * is yielded to the trampoline, runs on an empty stack, and has its result when the caller resumes.
 */
export type Nested<T> = Generator<DeferredCall<unknown> | undefined, T>

export class DeferredCall<T> {
  readonly steps: Nested<T>
  result: T | undefined

  constructor(steps: Nested<T>) {
    this.steps = steps
  }
}

/** Runs deeply recursive steps with bounded stack: deferred calls go on an explicit stack. */
export function* trampoline<T>(steps: Nested<T>): Steps<T> {
  const callers: DeferredCall<unknown>[] = []
  const root = new DeferredCall(steps)
  let current: DeferredCall<unknown> | undefined = root
  while (current !== undefined) {
    const step: IteratorResult<DeferredCall<unknown> | undefined, unknown> = current.steps.next()
    if (step.done === true) {
      current.result = step.value
      current = callers.pop()
    } else if (step.value !== undefined) {
      callers.push(current)
      current = step.value
    } else yield
  }
  return root.result as T
}
