import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retentionOf } from '../../src/settings/index.ts'
import { ageWithTwoDigits } from '../../src/settings/retention.ts'

test('units of size and age match the specification', () => {
  const sizes: [string, number][] = [
    ['1B', 1],
    ['77', 77],
    ['1kB', 1000],
    ['2MB', 2e6],
    ['3GB', 3e9],
    ['1KiB', 1024],
    ['2MiB', 2 ** 21],
    ['1GiB', 2 ** 30],
  ]
  for (const [maxSize, maxBytes] of sizes) assert.deepEqual(retentionOf({ maxSize }), { maxBytes })
  const ages: [string, number][] = [
    ['10s', 10],
    ['60m', 3600],
    ['24h', 86_400],
    ['10d', 864_000],
    ['20w', 12_096_000],
  ]
  for (const [maxAge, maxAgeSeconds] of ages) assert.deepEqual(retentionOf({ maxAge }), { maxAgeSeconds })
  assert.deepEqual(retentionOf({ maxEvents: 5 }), { maxEvents: 5 })
})

test('0, "0", null and undefined mean no limit', () => {
  for (const none of [0, '0', null] as const)
    assert.deepEqual(retentionOf({ maxEvents: none, maxSize: none, maxAge: none }), {})
  assert.deepEqual(retentionOf({}), {})
})

test('an age with one digit gets a suggestion with two digits', () => {
  const suggestions = [
    ['1h', '60m'],
    ['9m', '540s'],
    ['1d', '24h'],
    ['1w', '168h'],
    ['2w', '14d'],
  ] as const
  for (const [text, suggestion] of suggestions) assert.equal(ageWithTwoDigits(text), suggestion)
  for (const text of ['5s', '10h', 'h', '1y', '']) assert.equal(ageWithTwoDigits(text), undefined)
})
