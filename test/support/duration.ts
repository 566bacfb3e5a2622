import assert from 'node:assert/strict'

/** Asserts that the best of ten attempts takes less than a second: other programs may slow down some of them. */
export async function assertBelowASecond(attempt: () => Promise<number>): Promise<void> {
  const took: number[] = []
  do took.push(await attempt())
  while (took.length < 10 && took.every((ms) => ms >= 1000))
  assert.ok(
    took.some((ms) => ms < 1000),
    `took ${took.join(', ')} ms`,
  )
}
