import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { collectAll } from '../src/memory.ts'
import { Samples } from '../src/samples.ts'

setFlagsFromString('--allow-natives-syntax')
const samples = new Samples<string>()

test('the last one of a kind is kept, and no other', async () => {
  const first = new WeakRef({})
  samples.keep('kind', first.deref())
  const other = new WeakRef({})
  samples.keep('another kind', other.deref())
  // What was looked at stays until the end of the turn.
  await new Promise(setImmediate)
  collectAll()
  ok(first.deref() !== undefined && other.deref() !== undefined)
  samples.keep('kind', {})
  await new Promise(setImmediate)
  collectAll()
  equal(first.deref(), undefined)
  ok(other.deref() !== undefined)
})

test('code for objects of which a sample is kept stays when everything else is collected', async () => {
  const prepare = new Function('f', '%PrepareFunctionForOptimization(f)') as (f: unknown) => void
  const optimizeNext = new Function('f', '%OptimizeFunctionOnNextCall(f)') as (f: unknown) => void
  const statusOf = new Function('f', 'return %GetOptimizationStatus(f)') as (f: unknown) => number
  const isOptimized = (f: unknown): boolean => (statusOf(f) & (1 << 4)) !== 0
  // Each from its own source: functions of one share what is known about their objects.
  const work = (): { sum(point: object): number; make(): object } =>
    new Function('class Point { x = 1; y = 2 } return { sum: ({ x, y }) => x + y, make: () => new Point() }')()
  const [kept, lost] = [work(), work()]
  for (const { sum, make } of [kept, lost]) {
    prepare(sum)
    for (let i = 0; i < 10; i++) sum(make())
    optimizeNext(sum)
    sum(make())
    ok(isOptimized(sum))
  }
  samples.keep('point', kept.make())
  await new Promise(setImmediate)
  collectAll()
  ok(isOptimized(kept.sum), 'what works with objects like the sample')
  ok(!isOptimized(lost.sum), 'what works with objects of which there are none')
})
