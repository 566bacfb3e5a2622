import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import type { StreamKey } from '../../../src/protocol/index.ts'
import { StopDrain } from '../../../src/swarm/exchange/stop-drain.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

const stream = (number: number) => ({ node: new Uint8Array(32), number }) as StreamKey

function opened() {
  const runtime = virtualRuntime()
  const peer = { isReady: true, isCongested: false, stored: new Map<number, number>() }
  const sync = { peers: () => [peer], isReadOnly: false }
  const drain = new StopDrain({
    log: { headOf: async () => undefined },
    node: new Uint8Array(32),
    runtime,
    sync: sync as unknown as ConstructorParameters<typeof StopDrain>[0]['sync'],
  })
  let isOver = false
  /** Begins to wait; the timers are advanced to let the notices of commits in. */
  const wait = async (): Promise<void> => {
    void drain.wait().then(() => {
      isOver = true
    })
    await settled()
    runtime.timers.advance(0)
    await settled()
  }
  return { runtime, peer, sync, drain, wait, isOver: () => isOver }
}

async function settled(): Promise<void> {
  await new Promise(setImmediate)
}

test('a stop waits until a peer has stored the newest events', async () => {
  const { peer, drain, wait, isOver, runtime } = opened()
  drain.appended(stream(0), 5)
  drain.appended(stream(1), 2)
  peer.stored.set(0, 5)
  await wait()
  assert.equal(isOver(), false)
  peer.stored.set(1, 1)
  drain.check()
  await settled()
  assert.equal(isOver(), false)
  peer.stored.set(1, 2)
  drain.check()
  await settled()
  assert.deepEqual([isOver(), runtime.timers.pending], [true, 0])
})

test('a stop does not wait for older events, without a peer that takes them, or when it is read-only', async () => {
  const cases = [
    ({ runtime }: ReturnType<typeof opened>) => runtime.timers.advance(limits.drainedAppendsMs + 1),
    ({ peer }: ReturnType<typeof opened>) => Object.assign(peer, { isReady: false }),
    ({ peer }: ReturnType<typeof opened>) => Object.assign(peer, { isCongested: true }),
    ({ sync }: ReturnType<typeof opened>) => Object.assign(sync, { isReadOnly: true }),
  ]
  for (const change of cases) {
    const parts = opened()
    parts.drain.appended(stream(0), 5)
    change(parts)
    await parts.wait()
    assert.equal(parts.isOver(), true)
  }
})

test('a peer that stores nothing delays a stop only for a while', async () => {
  const { drain, wait, isOver, runtime } = opened()
  drain.appended(stream(0), 5)
  await wait()
  assert.equal(isOver(), false)
  runtime.timers.advance(limits.drainMs)
  await settled()
  assert.equal(isOver(), true)
})
