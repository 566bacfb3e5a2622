import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EvictionPolicy } from '../../../src/admin/access/eviction-policy.ts'
import * as fc from '../../support/property.ts'

test('an address beyond its share loses its oldest connection without a session, and no other address does', () => {
  const policy = new EvictionPolicy<string>(8)
  assert.equal(policy.opened('b1', '10.0.0.2'), undefined)
  for (const name of ['a1', 'a2', 'a3', 'a4']) assert.equal(policy.opened(name, '10.0.0.1'), undefined)
  policy.markSession('a1', true)
  assert.equal(policy.opened('a5', '::ffff:10.0.0.1'), 'a2')
  assert.equal(policy.opened('b2', '10.0.0.2'), undefined)
})

test('an address whose connections all have sessions gets no further one', () => {
  const policy = new EvictionPolicy<string>(4)
  for (const name of ['a1', 'a2']) {
    policy.opened(name, '10.0.0.1')
    policy.markSession(name, true)
  }
  assert.equal(policy.opened('a3', '10.0.0.1'), 'a3')
  policy.closed('a1')
  assert.equal(policy.opened('a4', '10.0.0.1'), undefined)
})

test('when the last free connection is taken, the oldest one without a session is evicted', () => {
  const policy = new EvictionPolicy<number>(4)
  for (let i = 0; i < 3; i++) assert.equal(policy.opened(i, `10.0.0.${i}`), undefined)
  assert.equal(policy.opened(3, '10.0.0.3'), 0)
  policy.markSession(1, true)
  assert.equal(policy.opened(4, '10.0.0.4'), 2)
})

test('a connection whose session has ended can be evicted', () => {
  const policy = new EvictionPolicy<number>(2)
  policy.opened(0, 'a')
  policy.markSession(0, true)
  assert.equal(policy.opened(1, 'b'), 1)
  policy.markSession(0, false)
  assert.equal(policy.opened(2, 'b'), 0)
})

test('no connection with a session is evicted, and the port is never full', () => {
  const step = fc.record({ act: fc.constantFrom('open', 'ask', 'forget', 'close'), at: fc.nat(30), from: fc.nat(4) })
  const holds = fc.property(fc.integer({ min: 2, max: 12 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
    const policy = new EvictionPolicy<number>(max)
    const open = new Map<number, { from: number; hasSession: boolean }>()
    for (const [i, { act, at, from }] of steps.entries()) {
      const chosen = [...open.keys()][at % Math.max(1, open.size)]
      if (act === 'open') {
        open.set(i, { from, hasSession: false })
        const closed = policy.opened(i, `10.0.0.${from}`)
        assert.notEqual(closed !== undefined && open.get(closed)?.hasSession, true)
        if (closed !== undefined) open.delete(closed)
        const fromAddress = [...open.values()].filter((other) => other.from === from).length
        assert.ok(open.size < max && fromAddress <= Math.max(1, Math.floor(max / 2)))
      } else if (chosen !== undefined && act === 'close') {
        policy.closed(chosen)
        open.delete(chosen)
      } else if (chosen !== undefined) {
        policy.markSession(chosen, act === 'ask')
        open.set(chosen, { from: open.get(chosen)?.from ?? 0, hasSession: act === 'ask' })
      }
    }
  })
  fc.assert(holds)
})
