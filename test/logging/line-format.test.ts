import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonLine, textLine } from '../../src/logging/index.ts'
import * as fc from '../support/property.ts'

const record = {
  micros: 1_700_000_000_123_456,
  level: 'INFO' as const,
  target: 'API_BOUND',
  message: 'API bound.',
  fields: {},
}

test('a text line has time, level, target, message and fields', () => {
  const fields = { path: '/a', words: 'two words', list: [1], error: new Error('no') }
  const line = '2023-11-14T22:13:20.123456Z  INFO API_BOUND: API bound. path=/a words="two words" list=[1] error=no\n'
  assert.equal(textLine(false)({ ...record, fields }), line)
  assert.equal(textLine(true)(record), '2023-11-14T22:13:20.123456Z \x1b[32m INFO\x1b[0m API_BOUND: API bound.\n')
})

test('a field in a JSON line cannot override time, level, message or target', () => {
  const line = jsonLine({ ...record, fields: { peers: 3, big: 2n ** 60n, level: 'fake' } })
  const expected = {
    peers: 3,
    big: '1152921504606846976',
    level: 'INFO',
    timestamp: '2023-11-14T22:13:20.123456Z',
    message: 'API bound.',
    target: 'API_BOUND',
  }
  assert.deepEqual(JSON.parse(line), expected)
})

test('control characters in a message or field are escaped: no log injection, no terminal sequences', () => {
  const nasty = fc.string({
    unit: fc.constantFrom('\n', '\r', '\x1b', '\x07', '\x9b', 'a', '2023-11-14T22:13:20.123456Z ERROR x: y'),
  })
  fc.assert(
    fc.property(nasty, nasty, (message, value) => {
      const line = textLine(false)({ ...record, message, fields: { value } })
      assert.equal(line.match(/^2023/gm)?.length, 1)
      assert.doesNotMatch(line.slice(0, -1), /(?!\n)\p{Cc}/u)
      assert.equal(
        jsonLine({ ...record, message, fields: { value } }).indexOf('\n'),
        jsonLine({ ...record, message, fields: { value } }).length - 1,
      )
    }),
  )
})
