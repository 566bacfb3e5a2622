import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { ThrottledLog } from '../../src/logging/index.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

function throttled() {
  const { timers } = virtualRuntime()
  const lines: string[] = []
  const log = new ThrottledLog((count) => lines.push(`others ${count}`), timers)
  const add = (kind: string): void =>
    log.add(kind, { first: () => lines.push(kind), more: (count) => lines.push(`${kind} +${count}`) })
  const minute = (): void => timers.advance(limits.throttledLogMs)
  return { lines, add, minute }
}

test('the first line of a kind is written at once, repeated ones as one count per interval', () => {
  const { lines, add, minute } = throttled()
  for (const kind of ['a', 'a', 'b', 'a']) add(kind)
  assert.deepEqual(lines.splice(0), ['a', 'b'])
  minute()
  assert.deepEqual(lines.splice(0), ['a +2'])
  add('a')
  assert.deepEqual(lines, [])
  minute()
  assert.deepEqual(lines.splice(0), ['a +1'])
})

test('a kind is forgotten after an interval without a line', () => {
  const { lines, add, minute } = throttled()
  add('a')
  minute()
  add('a')
  assert.deepEqual(lines, ['a', 'a'])
})

test('kinds beyond the limit share one count', () => {
  const { lines, add, minute } = throttled()
  for (let i = 0; i < limits.throttledLogKinds + 10; i++) add(`kind ${i}`)
  assert.equal(lines.splice(0).length, limits.throttledLogKinds)
  minute()
  assert.deepEqual(lines.splice(0), ['others 10'])
  add('another')
  assert.deepEqual(lines, ['another'])
})
