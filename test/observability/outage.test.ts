import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Outage } from '../../src/observability/outage.ts'
import { VirtualClock } from '../support/virtual-runtime.ts'

function observed() {
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const clock = new VirtualClock()
  return { lines, clock, outage: new Outage('storing', { error: write, info: write }, clock) }
}

test('an outage logs one line when it begins, periodic summaries, and one line when it ends', () => {
  const { lines, clock, outage } = observed()
  for (let i = 0; i < 106; i++, clock.advance(10)) outage.failed('it is full')
  assert.deepEqual(lines.splice(0), ['storing fails: it is full'])
  clock.advance(limits.outageSummaryMs - clock.steadyMs())
  outage.failed('it is broken')
  outage.failed('it is full')
  assert.deepEqual(lines.splice(0), ['storing still fails, 107 times in 60 s: it is broken'])
  assert.equal(outage.detail, 'it is full')
  outage.succeeded()
  outage.succeeded()
  assert.deepEqual(lines.splice(0), ['storing works again, after it failed 108 times in 60 s'])
  assert.equal(outage.detail, undefined)
})

test('a second outage starts counting from zero', () => {
  const { lines, clock, outage } = observed()
  outage.failed('one')
  outage.succeeded()
  clock.advance(500_000)
  outage.failed('two')
  outage.succeeded()
  assert.deepEqual(lines.slice(2), ['storing fails: two', 'storing works again, after it failed once in 1 s'])
})
