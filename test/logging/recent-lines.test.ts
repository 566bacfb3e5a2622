import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { isAtLeast, type LogRecord, RecentLines } from '../../src/logging/index.ts'
import * as fc from '../support/property.ts'

const record = (message: string): LogRecord => ({ micros: 1, level: 'INFO', target: 'a', message, fields: {} })

test('the newest lines are kept as JSON, within a number of lines and of characters', () => {
  const lengths = fc.array(fc.constantFrom(0, 10, 1000, 300_000), { maxLength: 30 })
  const holds = fc.property(lengths, (all) => {
    const recent = new RecentLines()
    const written = all.map((length, i) => `${i} ${'x'.repeat(length)}`)
    for (const message of written) recent.add(record(message))
    const kept = recent.lines.map(({ text }) => (JSON.parse(text) as { message: string }).message)
    assert.deepEqual(kept, written.slice(written.length - kept.length))
    const characters = recent.lines.reduce((sum, { text }) => sum + text.length, 0)
    assert.ok(characters <= limits.logCharactersKept)
    assert.ok(kept.length === all.length || characters + 400_000 > limits.logCharactersKept)
  })
  fc.assert(holds)
  const many = new RecentLines()
  for (let i = 0; i < limits.logLinesKept + 5; i++) many.add(record(String(i)))
  assert.equal(many.lines.length, limits.logLinesKept)
  assert.match(many.lines[0]?.text ?? '', /"message":"5"/)
})

test('a line that is larger than all that is kept is not kept', () => {
  const recent = new RecentLines()
  recent.add(record('x'.repeat(limits.logCharactersKept)))
  assert.deepEqual(recent.lines, [])
})

test('listeners get new lines until they end it', () => {
  const recent = new RecentLines()
  const heard: string[] = []
  const end = recent.onLine(({ text }) => heard.push((JSON.parse(text) as { message: string }).message))
  recent.add(record('a'))
  end()
  recent.add(record('b'))
  assert.deepEqual(heard, ['a'])
})

test('levels are compared by severity', () => {
  assert.deepEqual(
    (['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const).map((level) => isAtLeast(level, 'WARN')),
    [true, true, false, false, false],
  )
})
