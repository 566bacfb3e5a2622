import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import type { NodeClient } from '../../src/cli/client/node-client.ts'
import { RetryingClient } from '../../src/cli/client/retrying-client.ts'
import { systemTimers } from '../../src/runtime/timers.ts'

/** A node that refuses some requests; each takes a second. */
function refusing(times: number, error: () => Error) {
  let asked = 0
  const node: NodeClient = {
    request: async <T>() => {
      if (asked++ < times) throw error()
      return 'answer' as T
    },
    stream: () => assert.fail('not used'),
  }
  const clock = { now: () => 0, steadyMs: () => asked * 1000 }
  const timers = { ...systemTimers, setTimeout: (work: () => void) => systemTimers.setTimeout(work, 0) }
  return { client: new RetryingClient(node, { clock, timers }), asked: () => asked }
}

const changing = () => failure('ERR_TOPIC_UNAVAILABLE', { topic: 't', cause: 'the node changes to it' })
const sent = { method: 'GET', path: '/' } as const

test('a request is retried while the node changes its topic, for a limited time; after other errors it is not', async () => {
  const soon = refusing(3, changing)
  assert.equal(await soon.client.request(sent), 'answer')
  assert.equal(soon.asked(), 4)
  const never = refusing(Number.POSITIVE_INFINITY, changing)
  await assert.rejects(never.client.request(sent), { code: 'ERR_TOPIC_UNAVAILABLE' })
  assert.equal(never.asked(), limits.controlWaitMs / 1000 + 1)
  const other = refusing(1, () => failure('ERR_SHUTTING_DOWN', {}))
  await assert.rejects(other.client.request(sent), { code: 'ERR_SHUTTING_DOWN' })
  assert.equal(other.asked(), 1)
})
