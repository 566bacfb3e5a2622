import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimit } from '../../src/logging/index.ts'
import { VirtualClock } from '../support/virtual-runtime.ts'

test('a rate limit writes one message per interval, with the number of occurrences since the last one', () => {
  const clock = new VirtualClock()
  const rate = new RateLimit(1000, clock)
  const written: number[] = []
  const occur = (times: number): void => {
    for (let i = 0; i < times; i++) rate.occurred((count) => written.push(count))
  }
  occur(5)
  clock.advance(999)
  occur(1)
  clock.advance(1)
  occur(1)
  clock.advance(4000)
  occur(2)
  assert.deepEqual(written, [1, 6, 1])
})
