import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventKey as AqlEventKey, compareEventKeys as compareAqlKeys } from '../../src/aql/index.ts'
import { nodeIdOf, type PublicKey } from '../../src/identity/index.ts'
import { compareEventKeys, compareEvents, type EventKey, type KeyedEvent } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'

/** From small ranges, so that there are ties. */
const events: fc.Arbitrary<KeyedEvent> = fc
  .record({ lamport: fc.nat(2), node: fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), number: fc.constantFrom(0, 2, 10) })
  .map(({ lamport, node, number }) => ({
    lamport,
    stream: { key: { node: Buffer.alloc(32, node) as Uint8Array as PublicKey, number } },
  }))

/** From the whole ranges: any node, lamport timestamp and stream number. */
const anyEvents: fc.Arbitrary<KeyedEvent> = fc
  .record({
    lamport: fc.maxSafeNat(),
    node: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    number: fc.maxSafeNat(),
  })
  .map(({ lamport, node, number }) => ({ lamport, stream: { key: { node: node as PublicKey, number } } }))

/** A text that sorts like the event. */
function textOf({ lamport, stream: { key } }: KeyedEvent): string {
  return `${lamport} ${Buffer.from(key.node).toString('hex')} ${String(key.number).padStart(3, '0')}`
}

test('events are ordered by lamport timestamp, then by the bytes of the node, then by the number of the stream', () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 30 }), (list) => {
      assert.deepEqual(list.toSorted(compareEvents).map(textOf), list.map(textOf).sort())
    }),
  )
})

test('two events compare equal only with the same stream and lamport timestamp', () => {
  fc.assert(
    fc.property(events, events, (a, b) => {
      assert.equal(Math.sign(compareEvents(a, b)), -Math.sign(compareEvents(b, a)) || 0)
      assert.equal(compareEvents(a, b) === 0, textOf(a) === textOf(b))
    }),
  )
})

test('event keys with stream IDs as text have the same order', () => {
  const keyOf = ({ lamport, stream: { key } }: KeyedEvent): EventKey => ({
    lamport,
    stream: `${nodeIdOf(key.node)}-${key.number}`,
  })
  fc.assert(
    fc.property(events, events, (a, b) => {
      assert.equal(Math.sign(compareEventKeys(keyOf(a), keyOf(b))), Math.sign(compareEvents(a, b)))
    }),
  )
})

test('AQL orders events by the same total order', () => {
  const aqlKeyOf = ({ lamport, stream: { key } }: KeyedEvent): AqlEventKey => ({
    lamport,
    stream: { node: nodeIdOf(key.node), number: key.number },
  })
  fc.assert(
    fc.property(fc.oneof(events, anyEvents), fc.oneof(events, anyEvents), (a, b) => {
      assert.equal(compareAqlKeys(aqlKeyOf(a), aqlKeyOf(b)), Math.sign(compareEvents(a, b)))
    }),
  )
})
