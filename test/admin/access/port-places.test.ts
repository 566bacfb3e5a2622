import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PortPlaces } from '../../../src/admin/access/port-places.ts'
import * as fc from '../../support/property.ts'

test('an address beyond its share loses its oldest connection without a session, and no other address does', () => {
  const places = new PortPlaces<string>(8)
  assert.equal(places.opened('b1', '10.0.0.2'), undefined)
  for (const name of ['a1', 'a2', 'a3', 'a4']) assert.equal(places.opened(name, '10.0.0.1'), undefined)
  places.asked('a1', true)
  assert.equal(places.opened('a5', '::ffff:10.0.0.1'), 'a2')
  assert.equal(places.opened('b2', '10.0.0.2'), undefined)
})

test('an address whose connections all have sessions gets no further one', () => {
  const places = new PortPlaces<string>(4)
  for (const name of ['a1', 'a2']) {
    places.opened(name, '10.0.0.1')
    places.asked(name, true)
  }
  assert.equal(places.opened('a3', '10.0.0.1'), 'a3')
  places.closed('a1')
  assert.equal(places.opened('a4', '10.0.0.1'), undefined)
})

test('the last place of the port is for the next connection', () => {
  const places = new PortPlaces<number>(4)
  for (let i = 0; i < 3; i++) assert.equal(places.opened(i, `10.0.0.${i}`), undefined)
  assert.equal(places.opened(3, '10.0.0.3'), 0)
  places.asked(1, true)
  assert.equal(places.opened(4, '10.0.0.4'), 2)
})

test('a connection whose session has ended can be closed', () => {
  const places = new PortPlaces<number>(2)
  places.opened(0, 'a')
  places.asked(0, true)
  assert.equal(places.opened(1, 'b'), 1)
  places.asked(0, false)
  assert.equal(places.opened(2, 'b'), 0)
})

test('no connection with a session is closed, and the port is never full', () => {
  const step = fc.record({ act: fc.constantFrom('open', 'ask', 'forget', 'close'), at: fc.nat(30), from: fc.nat(4) })
  const holds = fc.property(fc.integer({ min: 2, max: 12 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
    const places = new PortPlaces<number>(max)
    const open = new Map<number, { from: number; hasSession: boolean }>()
    for (const [i, { act, at, from }] of steps.entries()) {
      const chosen = [...open.keys()][at % Math.max(1, open.size)]
      if (act === 'open') {
        open.set(i, { from, hasSession: false })
        const closed = places.opened(i, `10.0.0.${from}`)
        assert.notEqual(closed !== undefined && open.get(closed)?.hasSession, true)
        if (closed !== undefined) open.delete(closed)
        const fromAddress = [...open.values()].filter((other) => other.from === from).length
        assert.ok(open.size < max && fromAddress <= Math.max(1, Math.floor(max / 2)))
      } else if (chosen !== undefined && act === 'close') {
        places.closed(chosen)
        open.delete(chosen)
      } else if (chosen !== undefined) {
        places.asked(chosen, act === 'ask')
        open.set(chosen, { from: open.get(chosen)?.from ?? 0, hasSession: act === 'ask' })
      }
    }
  })
  fc.assert(holds)
})
