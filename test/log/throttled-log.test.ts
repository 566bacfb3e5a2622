import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { ThrottledLog } from '../../src/logging/index.ts'

function throttled(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: string[] = []
  const log = new ThrottledLog((count) => lines.push(`others ${count}`))
  const add = (kind: string): void =>
    log.add(kind, { first: () => lines.push(kind), more: (count) => lines.push(`${kind} +${count}`) })
  const minute = (): void => t.mock.timers.tick(limits.throttledLogMs)
  return { lines, add, minute }
}

test('the first line of a kind is written at once, repeated ones as one count per interval', (t) => {
  const { lines, add, minute } = throttled(t)
  for (const kind of ['a', 'a', 'b', 'a']) add(kind)
  assert.deepEqual(lines.splice(0), ['a', 'b'])
  minute()
  assert.deepEqual(lines.splice(0), ['a +2'])
  add('a')
  assert.deepEqual(lines, [])
  minute()
  assert.deepEqual(lines.splice(0), ['a +1'])
})

test('a kind is forgotten after an interval without a line', (t) => {
  const { lines, add, minute } = throttled(t)
  add('a')
  minute()
  add('a')
  assert.deepEqual(lines, ['a', 'a'])
})

test('kinds beyond the limit share one count', (t) => {
  const { lines, add, minute } = throttled(t)
  for (let i = 0; i < limits.throttledLogKinds + 10; i++) add(`kind ${i}`)
  assert.equal(lines.splice(0).length, limits.throttledLogKinds)
  minute()
  assert.deepEqual(lines.splice(0), ['others 10'])
  add('another')
  assert.deepEqual(lines, ['another'])
})
