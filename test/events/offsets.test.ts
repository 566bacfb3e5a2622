import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { memoryStore, nodeId, silent } from '../support/api.ts'

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
