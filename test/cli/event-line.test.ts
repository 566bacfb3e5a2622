import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventText, localTime } from '../../src/cli/output/event-line.ts'
import * as fc from '../support/property.ts'

const stream = `QJ5s${'.'.repeat(39)}-2`
const micros = Date.UTC(2026, 0, 2, 3, 4, 5, 6) * 1000 + 7
const meta = { lamport: 9, stream, offset: 3, timestamp: micros, tags: ['a'], appId: 'com.example.a' }
const line = (message: object, payload = '1.0'): string =>
  JSON.stringify(message).replace(/\}$/, `,"payload":${payload}}`)
const at = `9/QJ5s-2@${localTime(micros)}`

test('lines for people name the event, and have its payload as it was published', () => {
  assert.equal(
    eventText(line({ type: 'event', ...meta }, '{"n":9007199254740993,"payload":1.0}')),
    `${at}: {"n":9007199254740993,"payload":1.0}`,
  )
  assert.equal(eventText(line({ type: 'antiEvent', ...meta })), `- ${at}: 1.0`)
  const tagged = { type: 'event', ...meta, tags: [',"payload":2}'] }
  assert.equal(eventText(line(tagged, '"x"')), `${at}: "x"`)
})

test('results of several events name the first and the last, others none', () => {
  const key = { lamport: 9, stream, offset: 3 }
  const none = { lamport: 0, stream: `${'.'.repeat(43)}-0`, offset: 0, timestamp: 0, tags: [], appId: 'none' }
  const several = { type: 'event', fromKey: key, toKey: { ...key, lamport: 10 }, fromTime: micros, toTime: micros + 1 }
  assert.equal(eventText(line({ ...several, ...none }, '3')), `${at} - 10/QJ5s-2@${localTime(micros + 1)}: 3`)
  assert.equal(eventText(line({ type: 'event', ...none }, '3')), 'synthetic: 3')
})

test('diagnostics are shown, and offsets are not', () => {
  const diagnostic = (severity: string) => JSON.stringify({ type: 'diagnostic', severity, message: 'no' })
  assert.equal(eventText(diagnostic('warning')), 'Warning: no')
  assert.equal(eventText(diagnostic('error')), 'Error: no')
  assert.equal(eventText('{"type":"offsets","offsets":{}}'), undefined)
})

test('control characters of a node stay in their line and are escaped', () => {
  const diagnostic = JSON.stringify({ type: 'diagnostic', severity: 'error', message: 'a\nb\x1b[2J' })
  assert.equal(eventText(diagnostic), 'Error: a\\u000ab\\u001b[2J')
  const forged = { type: 'event', ...meta, stream: `QJ5s-2\n${at}: ` }
  assert.match(eventText(line(forged)) ?? '', /^9\/QJ5s-2\\u000a9/)
  assert.equal(eventText(line({ type: 'event', ...meta }, '"\u009b2J\x7f"')), `${at}: "\\u009b2J\\u007f"`)
})

test('a local time is the same moment, with microseconds', () => {
  const moments = fc.property(fc.integer({ min: 0, max: 4_000_000_000_000_000 }), (moment) => {
    const text = localTime(moment)
    assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d$/)
    assert.equal(Date.parse(text), Math.floor(moment / 1000))
    assert.equal(Number(/\.\d{3}(\d{3})/.exec(text)?.[1]), moment % 1000)
  })
  fc.assert(moments)
})

test('time travel is shown with the event that came late', () => {
  const line = JSON.stringify({ type: 'timeTravel', newStart: { lamport: 7, stream: 'abc-0', offset: 3 } })
  assert.equal(eventText(line), 'time travel: an event arrived late, at 7/abc-0')
})

test('the payload is shown as it was published, without what follows it in a monotonic subscription', () => {
  const origin = '{"type":"event","lamport":1,"stream":"abcd-0","offset":0,"timestamp":0,"tags":[],"appId":"a"'
  const shown = (rest: string): string => eventText(`${origin},"payload":${rest}}`)?.replace(/^\S+ /, '') ?? ''
  assert.equal(shown('{"n":1.0},"caughtUp":true'), '{"n":1.0}')
  assert.equal(shown('7,"caughtUp":false'), '7')
  assert.equal(shown('{"n":1,"caughtUp":true}'), '{"n":1,"caughtUp":true}')
  assert.equal(shown('",\\"caughtUp\\":true"'), '",\\"caughtUp\\":true"')
})
