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
  const first = challenges.issue(user, 'tls')
  assert.equal(challenges.isOpen('another key', first, 'tls'), false)
  clock.advance(limits.challengeMs - 1)
  assert.equal(challenges.use(user, first, 'tls'), true)
  assert.equal(challenges.use(user, first, 'tls'), false)
  assert.equal(challenges.isOpen(user, first, 'tls'), false)
  const second = challenges.issue(user, 'tls')
  assert.notEqual(second, first)
  clock.advance(limits.challengeMs)
  assert.equal(challenges.use(user, second, 'tls'), false)
})

test('a challenge counts for the transport over which it was sent, and names it', () => {
  const { challenges } = made()
  const [plain, secure] = [challenges.issue(user, 'loopback'), challenges.issue(user, 'tls')]
  assert.deepEqual([plain.split('.')[0], secure.split('.')[0]], ['loopback', 'tls'])
  assert.equal(challenges.isOpen(user, plain, 'loopback') && challenges.isOpen(user, secure, 'tls'), true)
  for (const challenge of [plain, plain.replace('loopback', 'tls'), `tls.${plain}`])
    assert.equal(challenges.isOpen(user, challenge, 'tls'), false, challenge)
  assert.equal(challenges.use(user, secure, 'loopback'), false)
})

test('a jump of the wall clock does not change which challenges are open', () => {
  const { challenges, clock } = made()
  const challenge = challenges.issue(user, 'tls')
  clock.set(0)
  assert.equal(challenges.isOpen(user, challenge, 'tls'), true)
})

test('challenges of another process, and changed ones, are not open', () => {
  const { challenges } = made()
  const other = new Challenges({ clock: new VirtualClock(), random: new SeededRandom('other') })
  assert.equal(challenges.isOpen(user, other.issue(user, 'tls'), 'tls'), false)
  const challenge = challenges.issue(user, 'tls')
  for (const text of ['', 'x', `${challenge}=`, `${challenge} `, challenge.slice(1), challenge.toLowerCase()])
    assert.equal(challenges.isOpen(user, text, 'tls'), false, text)
  const changes = fc.property(fc.nat(challenge.length - 1), fc.constantFrom('A', 'z', '_'), (at, character) => {
    const changed = challenge.slice(0, at) + character + challenge.slice(at + 1)
    assert.equal(challenges.isOpen(user, changed, 'tls'), changed === challenge)
  })
  fc.assert(changes)
})

test('used challenges are remembered until they expire, up to a limit above which none is used', () => {
  const { challenges, clock } = made()
  const issued = Array.from({ length: limits.usedChallenges + 1 }, () => challenges.issue(user, 'tls'))
  for (const challenge of issued.slice(1)) assert.equal(challenges.use(user, challenge, 'tls'), true)
  assert.throws(() => challenges.use(user, issued[0] ?? '', 'tls'), { code: 'ERR_SERVICE_OVERLOADED' })
  assert.equal(challenges.isOpen(user, issued[1] ?? '', 'tls'), false)
  clock.advance(limits.challengeMs)
  assert.equal(challenges.use(user, challenges.issue(user, 'tls'), 'tls'), true)
})
