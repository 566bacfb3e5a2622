import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Challenges } from '../../../src/admin/access/challenges.ts'
import { limits } from '../../../src/base/limits.ts'
import * as fc from '../../support/property.ts'
import { SeededRandom, VirtualClock } from '../../support/virtual-runtime.ts'

const user = 'a public key'

function made(): { challenges: Challenges; clock: VirtualClock } {
  const clock = new VirtualClock()
  return { challenges: new Challenges({ clock, random: new SeededRandom('challenges') }), clock }
}

test('a challenge is used once, by the key that it was issued for, before it expires', () => {
  const { challenges, clock } = made()
  const first = challenges.issue(user)
  assert.equal(challenges.isOpen('another key', first), false)
  clock.advance(limits.challengeMs - 1)
  assert.equal(challenges.use(user, first), true)
  assert.equal(challenges.use(user, first), false)
  assert.equal(challenges.isOpen(user, first), false)
  const second = challenges.issue(user)
  assert.notEqual(second, first)
  clock.advance(limits.challengeMs)
  assert.equal(challenges.use(user, second), false)
})

test('a jump of the wall clock does not change which challenges are open', () => {
  const { challenges, clock } = made()
  const challenge = challenges.issue(user)
  clock.set(0)
  assert.equal(challenges.isOpen(user, challenge), true)
})

test('challenges of another process, and changed ones, are not open', () => {
  const { challenges } = made()
  const other = new Challenges({ clock: new VirtualClock(), random: new SeededRandom('other') })
  assert.equal(challenges.isOpen(user, other.issue(user)), false)
  const challenge = challenges.issue(user)
  for (const text of ['', 'x', `${challenge}=`, `${challenge} `, challenge.slice(1), challenge.toLowerCase()])
    assert.equal(challenges.isOpen(user, text), false, text)
  const changes = fc.property(fc.nat(challenge.length - 1), fc.constantFrom('A', 'z', '_'), (at, character) => {
    const changed = challenge.slice(0, at) + character + challenge.slice(at + 1)
    assert.equal(challenges.isOpen(user, changed), changed === challenge)
  })
  fc.assert(changes)
})

test('used challenges are remembered until they expire, up to a limit above which none is used', () => {
  const { challenges, clock } = made()
  const issued = Array.from({ length: limits.usedChallenges + 1 }, () => challenges.issue(user))
  for (const challenge of issued.slice(1)) assert.equal(challenges.use(user, challenge), true)
  assert.throws(() => challenges.use(user, issued[0] ?? ''), { code: 'ERR_SERVICE_OVERLOADED' })
  assert.equal(challenges.isOpen(user, issued[1] ?? ''), false)
  clock.advance(limits.challengeMs)
  assert.equal(challenges.use(user, challenges.issue(user)), true)
})
