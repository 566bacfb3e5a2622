import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Schedule } from '../../src/sync/schedule.ts'
import * as fc from '../support/property.ts'

test('a schedule returns every name once, at its earliest time', () => {
  const operation = fc.oneof(fc.record({ add: fc.nat(8), at: fc.nat(50) }), fc.record({ take: fc.nat(5) }))
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
      const schedule = new Schedule()
      const expected = new Map<string, number>()
      let now = 0
      for (const given of operations) {
        if ('add' in given) {
          const name = `${given.add}`
          schedule.add(name, now + given.at)
          expected.set(name, Math.min(expected.get(name) ?? Number.POSITIVE_INFINITY, now + given.at))
        } else {
          now += given.take
          const due = [...expected].filter(([, at]) => at <= now)
          const taken = schedule.take(now)
          assert.deepEqual([...taken].sort(), due.map(([name]) => name).sort())
          const times = taken.map((name) => expected.get(name) as number)
          assert.deepEqual(
            times,
            times.toSorted((a, b) => a - b),
          )
          for (const [name] of due) expected.delete(name)
        }
        assert.ok(schedule.next <= Math.min(...expected.values(), Number.POSITIVE_INFINITY))
        assert.ok(schedule.next > now || 'add' in given)
      }
    }),
  )
})
