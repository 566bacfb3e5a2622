import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { maxMessageBytes } from '../../../src/swarm/host/index.ts'
import { UnreadBytes } from '../../../src/swarm/host/unread-bytes.ts'
import * as fc from '../../support/property.ts'

interface TestSession {
  readonly peer: string
  unreadBytes: number
}

const mib = 1024 * 1024

test('the session with the largest incomplete messages is closed when there are too many in all', () => {
  const unread = new UnreadBytes()
  const sessions: TestSession[] = ['a', 'b', 'c'].map((peer, i) => ({ peer, unreadBytes: (9 + i) * mib }))
  const results = sessions.map(({ peer, unreadBytes }) => unread.changed(peer, unreadBytes, sessions))
  assert.deepEqual(results, [undefined, undefined, undefined])
  assert.equal(unread.changed('a', 2 * mib + 1, sessions), sessions[2])
})

test('a peer with several sessions has no more than a peer with one', () => {
  const unread = new UnreadBytes()
  const sessions: TestSession[] = [
    { peer: 'b', unreadBytes: mib },
    { peer: 'a', unreadBytes: 12 * mib },
    { peer: 'a', unreadBytes: 16 * mib },
  ]
  for (const { peer, unreadBytes } of sessions) assert.equal(unread.changed(peer, unreadBytes, sessions), undefined)
  assert.equal(unread.changed('a', 1, sessions), sessions[2])
})

test('the largest message of each stream fits, and no more than the limits is ever held', () => {
  const largest = Object.values(maxMessageBytes).reduce((sum, bytes) => sum + bytes, 0)
  assert.ok(largest <= limits.unreadPeerBytes && limits.unreadPeerBytes <= limits.unreadSwarmBytes)
  const steps = fc.array(
    fc.record({ session: fc.nat(5), bytes: fc.integer({ min: 1, max: 8 * mib }), isDone: fc.boolean() }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const unread = new UnreadBytes()
      const sessions: TestSession[] = Array.from({ length: 6 }, (_, i) => ({ peer: `${i >> 1}`, unreadBytes: 0 }))
      const set = (session: TestSession, bytes: number): void => {
        const change = bytes - session.unreadBytes
        session.unreadBytes = bytes
        const closed = unread.changed(session.peer, change, sessions)
        if (closed !== undefined) set(closed, 0)
      }
      for (const { session: index, bytes, isDone } of all) {
        const session = sessions[index] as TestSession
        set(session, isDone ? 0 : session.unreadBytes + bytes)
        const held = (of: readonly TestSession[]) => of.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0)
        assert.ok(held(sessions) <= limits.unreadSwarmBytes)
        for (const { peer } of sessions)
          assert.ok(held(sessions.filter((other) => other.peer === peer)) <= limits.unreadPeerBytes)
      }
    }),
  )
})
