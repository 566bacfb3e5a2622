import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { LamportClock } from '../../src/replication/index.ts'
import { isTooFarAhead } from '../../src/replication/lamport-clock.ts'
import * as fc from '../support/property.ts'

const steps = fc.array(
  fc.oneof(fc.record({ take: fc.integer({ min: 1, max: 100 }) }), fc.record({ follow: fc.nat(1000) })),
)

test('the logical clock is monotonic, and own events come after all stored events', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const clock = new LamportClock()
      let newest = -1
      for (const step of list) {
        const before = clock.next
        if ('take' in step) {
          const first = clock.take(step.take)
          assert.ok(first > newest)
          newest = first + step.take - 1
        } else {
          clock.follow(step.follow)
          newest = Math.max(newest, step.follow)
        }
        assert.ok(clock.next >= before && clock.next === newest + 1)
      }
    }),
  )
})

test('an exhausted logical clock throws and does not advance', () => {
  const clock = new LamportClock()
  clock.follow(Number.MAX_SAFE_INTEGER - 3)
  const { next } = clock
  assert.throws(
    () => clock.take(3),
    (error) => error instanceof ShoalError && error.code === 'ERR_IO',
  )
  assert.equal(clock.next, next)
  assert.equal(clock.take(2), next)
})

test('a lamport timestamp is too far ahead when it is more than a day ahead, or the largest possible one', () => {
  const [day, last] = [86_400e6, Number.MAX_SAFE_INTEGER]
  assert.deepEqual(
    [
      [day, 0],
      [day + 1, 0],
      [last - 1, last],
      [last, last],
    ].map(([lamport = 0, now = 0]) => isTooFarAhead(lamport, now)),
    [false, true, false, true],
  )
})
