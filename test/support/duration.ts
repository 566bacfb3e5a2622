import assert from 'node:assert/strict'

/** Asserts that the best of ten attempts takes less than a second. */
export async function assertBelowASecond(attempt: () => Promise<number>): Promise<void> {
  await assertBelow(1000, attempt)
}

/**
 * Asserts that the best of some attempts takes less than a time: other programs may slow down some of them. Returns the
 * durations of the attempts that were made.
 */
export async function assertBelow(limitMs: number, attempt: () => Promise<number>, attempts = 10): Promise<number[]> {
  const took: number[] = []
  do took.push(await attempt())
  while (took.length < attempts && took.every((ms) => ms >= limitMs))
  assert.ok(
    took.some((ms) => ms < limitMs),
    `took ${took.join(', ')} ms`,
  )
  return took
}
