import assert from 'node:assert/strict'

/** Asserts that something takes less than a second in the best of ten attempts: other programs use the machine too. */
export async function assertBelowASecond(attempt: () => Promise<number>): Promise<void> {
  const took: number[] = []
  do took.push(await attempt())
  while (took.length < 10 && took.every((ms) => ms >= 1000))
  assert.ok(
    took.some((ms) => ms < 1000),
    `took ${took.join(', ')} ms`,
  )
}
