import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimit } from '../../src/logging/index.ts'

test('a rate limit writes one message per interval, with the number of occurrences since the last one', () => {
  let now = 0
  const rate = new RateLimit(1000, () => now)
  const written: number[] = []
  const occur = (times: number): void => {
    for (let i = 0; i < times; i++) rate.occurred((count) => written.push(count))
  }
  occur(5)
  now = 999
  occur(1)
  now = 1000
  occur(1)
  now = 5000
  occur(2)
  assert.deepEqual(written, [1, 6, 1])
})
