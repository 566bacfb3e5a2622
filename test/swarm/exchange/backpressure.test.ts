import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { encodeChunk } from '../../../src/protocol/index.ts'
import { type ReplicatedLog, Replicator } from '../../../src/swarm/index.ts'
import type { Message } from '../../../src/sync/index.ts'
import { VirtualClock, VirtualTimers } from '../../support/virtual-runtime.ts'
import { hello, node, rowOf, topic } from '../../sync/support.ts'

const MiB = 1024 * 1024

/** A replicator with a log that stores and reads when the test says so, and the calls of its transport. */
class SlowNode {
  readonly calls: string[] = []
  readonly stored: (() => void)[] = []
  readonly read: (() => void)[] = []
  readonly replicator: Replicator

  constructor() {
    const clock = new VirtualClock()
    const slow = (list: (() => void)[], result: unknown) => () =>
      new Promise((resolve) => list.push(() => resolve(result)))
    const log = {
      receiveAll: slow(this.stored, { answers: [{ state: 'known', count: 0 }], rows: [] }),
      headOf: async () => undefined,
      streamOf: async () => ({ number: 0, pruned: 0, count: 5 }),
      chunks: slow(this.read, [encodeChunk([Buffer.alloc(MiB)], rowOf(1, 5).head as Uint8Array)]),
      records: async () => ({ prune: undefined, redactions: [], next: undefined }),
      onAppended: () => () => {},
    }
    this.replicator = new Replicator({
      topic,
      node,
      log: log as unknown as ReplicatedLog,
      transport: {
        send: (peer, { is }) => this.calls.push(`send ${is} to ${peer}`),
        close: (peer, reason) => this.calls.push(`close ${peer}: ${reason}`),
        pause: (peer, isPaused) => this.calls.push(`${isPaused ? 'pause' : 'resume'} ${peer}`),
      },
      runtime: { clock, timers: new VirtualTimers(clock), random: { fill: (bytes: Uint8Array) => bytes } as never },
      gossipMs: 1000,
      random: () => 0.5,
      onFailure: assert.ifError,
    })
    this.replicator.connected('a')
    this.replicator.received('a', hello)
    this.calls.length = 0
  }

  /** A peer sends a push of 1 MiB. */
  push(): void {
    const chunk = encodeChunk([Buffer.alloc(MiB)], rowOf(1, 5).head as Uint8Array)
    this.replicator.received('a', { is: 'push', chunk })
  }

  get state() {
    return this.replicator.peers()[0]
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('a peer is not read while much of its input waits for the log, and is read again', async () => {
  const slow = new SlowNode()
  for (let i = 0; i < 8; i++) slow.push()
  assert.deepEqual(slow.calls, ['pause a'])
  assert.equal(slow.state?.isPaused, true)
  assert.ok((slow.state?.inputBytes ?? 0) > limits.inputBytesPerPeer)
  for (let end = slow.stored.shift(); end !== undefined; end = slow.stored.shift()) {
    end()
    await settled()
  }
  assert.ok(slow.calls.includes('resume a'))
  assert.equal(slow.state?.inputBytes, 0)
})

test('a peer that sends on although it is not read is disconnected, and its input is dropped', async () => {
  const slow = new SlowNode()
  for (let i = 0; i < 100; i++) slow.push()
  assert.deepEqual(slow.calls, ['pause a', 'close a: tooMuchInput'])
  assert.deepEqual(slow.replicator.peers(), [])
  slow.stored.shift()?.()
  await settled()
  assert.equal(slow.stored.length, 0, 'nothing more of it is given to the log')
})

test('the requests of a congested peer wait, and are answered when it has taken what was sent', async () => {
  const slow = new SlowNode()
  const want = (id: number): Message => ({ is: 'want', id, stream: rowOf(id, 5).key, from: 0, bytes: 4 * MiB })
  slow.replicator.received('a', want(1))
  await settled()
  slow.replicator.congested('a', true)
  slow.replicator.received('a', want(2))
  slow.read.shift()?.()
  await settled()
  assert.deepEqual(slow.calls, ['send chunk to a'])
  assert.deepEqual([slow.state?.waitingRequests, slow.state?.isCongested, slow.read.length], [1, true, 0])
  slow.replicator.congested('a', false)
  await settled()
  slow.read.shift()?.()
  await settled()
  assert.deepEqual(slow.calls, ['send chunk to a', 'send chunk to a'])
})
