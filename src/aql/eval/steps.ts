/** A computation that gives way at every `yield`, so that it never holds the thread for long. */
export type Steps<T> = Generator<void, T>

/** Computes to the end in one go: for those who have all the time, and for tests. */
export function finish<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
