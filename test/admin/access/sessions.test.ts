import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FailedAttempts } from '../../../src/admin/access/failed-attempts.ts'
import { Sessions } from '../../../src/admin/access/sessions.ts'
import { limits } from '../../../src/base/limits.ts'
import * as fc from '../../support/property.ts'
import { SeededRandom, VirtualClock } from '../../support/virtual-runtime.ts'

function made() {
  const clock = new VirtualClock()
  const sessions = new Sessions({ clock, random: new SeededRandom('sessions') })
  return { sessions, clock, userOf: (token = '') => sessions.find(token)?.publicKey }
}

test('a session belongs to its user until it ends or is ended', () => {
  const { sessions, clock, userOf } = made()
  const [first, second] = [sessions.open('a'), sessions.open('b')]
  assert.deepEqual([userOf(first), userOf(second)], ['a', 'b'])
  sessions.end(first)
  assert.equal(userOf(first), undefined)
  clock.advance(limits.sessionMs - 1)
  assert.equal(userOf(second), 'b')
  clock.advance(1)
  assert.equal(userOf(second), undefined)
  assert.equal(userOf(''), undefined)
})

test('a session of a removed user stays revoked', () => {
  const { sessions } = made()
  const [first, second] = [sessions.open('a'), sessions.open('b')]
  sessions.revokeExcept(['b', 'c'])
  sessions.revokeExcept(['a', 'b'])
  assert.deepEqual(
    [first, second].map((token) => sessions.find(token)?.isRevoked),
    [true, false],
  )
})

test('a further session of a user ends their oldest one, and none of another user', () => {
  const { sessions, userOf } = made()
  const other = sessions.open('b')
  const own = Array.from({ length: limits.sessionsPerUser }, () => sessions.open('a'))
  assert.ok(own.every((token) => userOf(token) === 'a'))
  const last = sessions.open('a')
  assert.deepEqual(
    [other, own[0], own[1], last].map((token) => userOf(token)),
    ['b', undefined, 'a', 'a'],
  )
})

test('the number of all sessions is limited: a further one ends the oldest', () => {
  const { sessions, userOf } = made()
  const tokens = Array.from({ length: limits.sessions + 1 }, (_, i) => sessions.open(`user ${i}`))
  assert.equal(userOf(tokens[0]), undefined)
  assert.ok(tokens.slice(1).every((token) => userOf(token) !== undefined))
})

test('an address that has failed too often may fail once more after a while', () => {
  const clock = new VirtualClock()
  const attempts = new FailedAttempts(clock)
  for (let i = 0; i < limits.failedSignIns; i++) {
    assert.equal(attempts.areTooMany('10.0.0.1'), false)
    attempts.add('10.0.0.1')
  }
  assert.equal(attempts.areTooMany('10.0.0.1'), true)
  assert.equal(attempts.areTooMany('10.0.0.2'), false)
  clock.advance(limits.failedSignInMs - 1)
  assert.equal(attempts.areTooMany('10.0.0.1'), true)
  clock.advance(1)
  assert.equal(attempts.areTooMany('10.0.0.1'), false)
  attempts.add('10.0.0.1')
  assert.equal(attempts.areTooMany('10.0.0.1'), true)
})

test('all addresses of an IPv6 network count as one, in every spelling', () => {
  const equal: [string, string, boolean][] = [
    ['2001:db8::1', '2001:db8:0:0:ffff::2', true],
    ['2001:db8::1', '2001:db8:0:1::1', false],
    ['fe80::1%eth0', 'fe80::2', true],
    ['::1', '::2', true],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.2', false],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::', true],
  ]
  for (const [one, other, isSame] of equal) {
    const attempts = new FailedAttempts(new VirtualClock())
    for (let i = 0; i < limits.failedSignIns; i++) attempts.add(one)
    assert.equal(attempts.areTooMany(other), isSame, `${one} ${other}`)
  }
})

test('in any interval an address fails at most as often as its limit and the time allow', () => {
  const steps = fc.array(fc.nat(2 * limits.failedSignInMs), { maxLength: 100 })
  const holds = fc.property(steps, (pauses) => {
    const clock = new VirtualClock()
    const attempts = new FailedAttempts(clock)
    let failed = 0
    for (const pause of pauses) {
      clock.advance(pause)
      if (attempts.areTooMany('a')) continue
      attempts.add('a')
      failed++
    }
    assert.ok(failed <= limits.failedSignIns + clock.steadyMs() / limits.failedSignInMs)
  })
  fc.assert(holds)
})

test('the number of counted addresses is limited', () => {
  const attempts = new FailedAttempts(new VirtualClock())
  for (let i = 0; i < limits.failedSignIns; i++) attempts.add('first')
  for (let i = 0; i < limits.failedSignInSources; i++) attempts.add(`other ${i}`)
  assert.equal(attempts.areTooMany('first'), false)
})
