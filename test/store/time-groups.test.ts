import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { TimeGroups } from '../../src/store/sqlite/time-index/time-groups.ts'
import * as fc from '../support/property.ts'

/** Equal times, small steps in both directions, and times far apart. */
const time = fc.oneof(
  fc.constantFrom(0, 5, 8_999_999_999_999_999),
  fc.nat(20),
  fc.maxSafeNat().map((n) => n % 9e15),
)
const times = fc.array(time, { minLength: 1, maxLength: 600, size: 'max' })
const range = fc.tuple(time, time).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) + 1 }))

function groupsOf(list: readonly number[]): TimeGroups {
  const groups = new TimeGroups()
  groups.add(list)
  return groups
}

/** All positions in the windows of a range, found upwards or downwards. */
function positionsIn(groups: TimeGroups, range: { from: number; to: number }, isDown: boolean): number[] {
  const found: number[] = []
  let at = isDown ? groups.count - 1 : 0
  for (;;) {
    const window = isDown ? groups.windowUpTo(at, range) : groups.windowFrom(at, range)
    if (window === undefined) return found.sort((a, b) => a - b)
    ok(window[0] <= window[1], 'a window has events')
    ok(isDown ? window[1] <= at : window[0] >= at, 'windows advance')
    for (let position = window[0]; position <= window[1]; position++) found.push(position)
    at = isDown ? window[0] - 1 : window[1] + 1
    if (at < 0) return found.sort((a, b) => a - b)
  }
}

test('windows contain every event within the range, in both directions', () => {
  fc.assert(
    fc.property(times, range, (list, range) => {
      const groups = groupsOf(list)
      const wanted = list.flatMap((time, i) => (time >= range.from && time < range.to ? [i] : []))
      const all = list.map((_, i) => i)
      const up = positionsIn(groups, range, false)
      deepEqual(positionsIn(groups, range, true), up)
      deepEqual(groups.filter(all, range), up, 'filtering and windows agree')
      const found = new Set(up)
      ok(wanted.every((position) => found.has(position)))
    }),
  )
})

test('encoded groups are decoded to the same groups, and joined ones have the bounds of their events', () => {
  fc.assert(
    fc.property(fc.array(times, { minLength: 1, maxLength: 5 }), (lists) => {
      const joined = new TimeGroups()
      for (const list of lists) joined.append(TimeGroups.decode(groupsOf(list).encode()))
      equal(joined.count, lists.flat().length)
      ok(joined.isOf(lists.flat()))
      ok(TimeGroups.decode(joined.encode()).isOf(lists.flat()))
      const changed = lists.flat()
      changed[0] = Math.max(...changed) + 1
      equal(joined.isOf(changed), false)
    }),
  )
})

test('a window from within a group starts there', () => {
  const groups = groupsOf(Array.from({ length: 300 }, (_, i) => i))
  deepEqual(groups.windowFrom(10, { from: 0, to: 5 }), [10, 127])
  deepEqual(groups.windowUpTo(140, { from: 0, to: 150 }), [0, 140])
  equal(groups.windowFrom(0, { from: 300, to: 301 }), undefined)
  equal(groups.windowFrom(300, { from: 0, to: 301 }), undefined)
  equal(groups.windowUpTo(127, { from: 128, to: 301 }), undefined)
})
