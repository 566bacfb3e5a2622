import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Events, toReplicate } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { memoryStore, nodeId, silent } from '../support/api.ts'
import * as fc from '../support/property.ts'

test('requests for offsets beyond the queue limit are refused, and accepted again afterwards', async () => {
  const store = memoryStore()
  const waiting: (() => void)[] = []
  const slow = new Proxy<EventStore>(store, {
    get: (target, name) =>
      name === 'streams' && isSlow
        ? () => new Promise<void>((resolve) => waiting.push(resolve)).then(() => target.streams())
        : (Reflect.get(target, name) as () => unknown).bind(target),
  })
  let isSlow = false
  const events = await Events.open(slow, { ...systemRuntime, node: nodeId, routes: [], log: silent })
  const offsets = await events.offsets()
  isSlow = true
  const asked = Array.from({ length: limits.pendingOffsetRequests }, () => events.offsets())
  await assert.rejects(events.offsets(), { code: 'ERR_SERVICE_OVERLOADED' })
  for (const go of waiting) go()
  for (const response of await Promise.all(asked)) assert.deepEqual(response, offsets)
  isSlow = false
  assert.deepEqual(await events.offsets(), offsets)
})

test('events that other nodes have and this one lacks are to be replicated; complete streams are left out', async () => {
  const stream = (number: number) => `${nodeId}-${number}`
  const present = { [stream(0)]: 7, [stream(1)]: 7, [stream(2)]: 7 }
  const peerOffsets = { [stream(0)]: 7, [stream(1)]: 5, [stream(2)]: 10, [stream(3)]: 0 }
  assert.deepEqual(toReplicate(present, peerOffsets), { [stream(2)]: 3, [stream(3)]: 1 })
  assert.deepEqual(toReplicate({}, {}), {})
  const [other, options] = ['.'.repeat(43), { ...systemRuntime, node: nodeId, routes: [], log: silent }]
  const events = await Events.open(memoryStore(), {
    ...options,
    peerOffsets: () => ({ [stream(0)]: 3, [`${other}-0`]: 11 }),
  })
  assert.deepEqual(await events.offsets(), { present: { [stream(0)]: 3 }, toReplicate: { [`${other}-0`]: 12 } })
})

test('offsets to replicate are the number of missing events, for any offsets', () => {
  const offsets = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.nat(20))
  fc.assert(
    fc.property(offsets, offsets, (present, peerOffsets) => {
      const missing = toReplicate(present, peerOffsets)
      for (const name of ['a', 'b', 'c']) {
        const has = (offset: number) => offset <= (present[name] ?? -1)
        const lacking = Array.from({ length: (peerOffsets[name] ?? -1) + 1 }, (_, offset) => offset).filter(
          (i) => !has(i),
        )
        assert.equal(missing[name], lacking.length === 0 ? undefined : lacking.length)
      }
    }),
  )
})
