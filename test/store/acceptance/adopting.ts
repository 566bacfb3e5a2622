import assert from 'node:assert/strict'
import { ShoalError } from '../../../src/base/errors.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { doubtOf } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { signedRedaction } from './removals.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import {
  checkpointCounts,
  chunksOf,
  endOf,
  idOf,
  isMalformed,
  numbered,
  numbersOf,
  range,
  replicate,
  requestOf,
  rules,
  streamOf,
  unchanged,
} from './support.ts'

const isForked = (error: unknown): boolean => error instanceof ShoalError && error.code === 'ERR_STREAM_FORKED'

/** A node before a part of its events was lost, and its key. */
async function original(count: number): Promise<{ readonly key: KeyPair; readonly lost: EventStore }> {
  const key = KeyPair.generate(systemRandom)
  const lost = memoryStore(key)
  await lost.append(requestOf(numbered(count)))
  return { key, lost }
}

async function chunkOf(store: EventStore, from: number, stream = 0): Promise<Uint8Array> {
  return (await store.chunk(stream, from)) as Uint8Array
}

/** What other nodes have of own streams is adopted. */
export const adopting = rules(({ small, large }) => {
  small('a store that is not in doubt adopts its own events, too', async (t, open) => {
    const { key, lost } = await original(3)
    const store = await open(t, { key })
    assert.equal(doubtOf(await store.startMarks()), undefined)
    assert.deepEqual(await store.receive(await chunkOf(lost, 0)), { state: 'stored', count: 3 })
    const { lamport, runs } = await store.append(requestOf(numbered(1, 3)))
    assert.deepEqual([lamport, runs[0]?.offset], [3, 3])
    assert.deepEqual(await numbersOf(store), range(0, 4))
  })

  small('a restored backup adopts its own events, and continues after them', async (t, open) => {
    const { key, lost } = await original(5)
    const [store, peer] = [await open(t, { key, restored: true }), memoryStore()]
    assert.equal(doubtOf(await store.startMarks()), 'restored')
    assert.deepEqual(await store.receive(await chunkOf(lost, 0)), { state: 'stored', count: 5 })
    await lost.append(requestOf(numbered(2, 5)))
    await replicate(lost, peer)
    assert.deepEqual(await store.receive(await chunkOf(peer, 5)), { state: 'stored', count: 7 })
    assert.deepEqual(await store.receive(await chunkOf(peer, 0)), { state: 'known', count: 7 })
    assert.equal((await store.heads())[0]?.hash, (await lost.heads())[0]?.hash)
    await store.settleOwnStreams()
    const { lamport, runs } = await store.append(requestOf(numbered(2, 7)))
    assert.deepEqual([lamport, runs[0]?.offset], [7, 7])
    assert.deepEqual(await numbersOf(store), range(0, 9))
    assert.deepEqual(await peer.receive(await chunkOf(store, 7)), { state: 'stored', count: 9 })
  })

  small('adopted events raise the clock, and new own streams are adopted, too', async (t, open) => {
    const { key, lost } = await original(1)
    const store = await open(t, { key, restored: true })
    await lost.append(requestOf(numbered(40, 1, 7)))
    await replicate(lost, store)
    const { lamport } = await store.append(requestOf(numbered(1, 41)))
    assert.equal(lamport, 41)
    assert.equal((await streamOf(store, idOf(key, 7))).own, true)
    assert.deepEqual(await numbersOf(store), range(0, 42))
  })

  small('once own streams are settled, longer chains are adopted, and other branches freeze them', async (t, open) => {
    const { key, lost } = await original(5)
    const store = await open(t, { key, restored: true })
    await store.receive(await chunkOf(lost, 0))
    await store.settleOwnStreams()
    await lost.append(requestOf(numbered(2, 5)))
    assert.deepEqual(await store.receive(await chunkOf(lost, 5)), { state: 'stored', count: 7 })
    await lost.append(requestOf(numbered(2, 7)))
    await store.append(requestOf(numbered(1, 100)))
    assert.deepEqual(await store.receive(await chunkOf(lost, 7)), { state: 'forked', count: 8 })
  })

  small('a chunk of an own stream that this node has not signed, or that was altered, is refused', async (t, open) => {
    const { key, lost } = await original(5)
    const store = await open(t, { key, restored: true })
    const chunk = await chunkOf(lost, 0)
    await unchanged(store, async () => {
      const forged = new ForgedStream(key).chunk([{ lamport: 1 }], KeyPair.generate(systemRandom))
      await assert.rejects(store.receive(forged), isMalformed)
      for (const at of [20, chunk.length >> 1, chunk.length - 1]) {
        const altered = Uint8Array.from(chunk)
        altered[at] = (altered[at] ?? 0) ^ 1
        await assert.rejects(store.receive(altered), isMalformed)
      }
    })
  })

  small('a chunk of an own stream that is ahead is not kept', async (t, open) => {
    const { key, lost } = await original(5)
    const store = await open(t, { key, restored: true })
    const first = await chunkOf(lost, 0)
    await lost.append(requestOf(numbered(2, 5)))
    const later = await chunkOf(lost, 5)
    await unchanged(store, async () =>
      assert.deepEqual(await store.receive(later, { before: endOf(first) }), { state: 'gap', count: 0 }),
    )
    assert.deepEqual(await store.receive(first), { state: 'stored', count: 5 })
    assert.deepEqual(await store.receive(later), { state: 'stored', count: 7 })
  })

  small('another branch of an own stream freezes it, and other streams go on', async (t, open) => {
    const { key, lost } = await original(5)
    const store = await open(t, { key, restored: true })
    await store.receive(await chunkOf(lost, 0))
    await lost.append(requestOf(numbered(3, 5)))
    await store.append(requestOf(numbered(1, 100)))
    assert.deepEqual(await store.receive(await chunkOf(lost, 5)), { state: 'forked', count: 6 })
    assert.ok((await store.evidence(0)) !== undefined)
    await assert.rejects(store.append(requestOf(numbered(1))), isForked)
    await store.append(requestOf(numbered(1, 200, 1)))
    assert.deepEqual(await numbersOf(store), [...range(0, 5), 100, 200])
  })

  small('redacted own events are adopted with their records, which remove nothing that is here', async (t, open) => {
    const { key, lost } = await original(3)
    const store = await open(t, { key, restored: true })
    await store.receive(await chunkOf(lost, 0))
    await lost.append(requestOf(numbered(3, 3)))
    const record = await lost.redact(0, [1, 4])
    await unchanged(store, async () => assert.rejects(store.receive(await chunkOf(lost, 3)), isMalformed))
    await unchanged(store, async () => assert.deepEqual(await store.applyRedaction(record), { state: 'waiting' }))
    assert.deepEqual(await store.applyRedaction(signedRedaction(key, 1)), { state: 'held' })
    assert.deepEqual(await store.receive(await chunkOf(lost, 3)), { state: 'stored', count: 6 })
    assert.deepEqual(await numbersOf(store), [0, 1, 2, 3, 5])
  })

  small('records for own events that were not adopted do not apply to new events', async (t, open) => {
    const { key, lost } = await original(3)
    const store = await open(t, { key, restored: true })
    const record = await lost.redact(0, [0, 2])
    assert.deepEqual(await store.applyRedaction(record), { state: 'waiting' })
    await store.settleOwnStreams()
    await store.append(requestOf(numbered(3, 10)))
    assert.deepEqual(await numbersOf(store), [10, 11, 12])
    assert.deepEqual((await store.records(0)).redactions, [])
    assert.deepEqual(await store.applyRedaction(record), { state: 'held' })
  })

  large('many adopted chunks keep their checkpoints, and own events end the next one', async (t, open) => {
    const { key, lost } = await original(3000)
    const [store, peer] = [await open(t, { key, restored: true }), memoryStore()]
    for (const chunk of await chunksOf(lost)) assert.equal((await store.receive(chunk)).state, 'stored')
    await store.settleOwnStreams()
    assert.deepEqual(await checkpointCounts(store), await checkpointCounts(lost))
    for (let i = 0; i < 5; i++) await store.append(requestOf(numbered(100, 3000 + 100 * i)))
    assert.deepEqual(await checkpointCounts(store), [1024, 2048, 3100])
    assert.deepEqual(await numbersOf(store), range(0, 3500))
    await replicate(store, peer)
    assert.deepEqual(await numbersOf(peer), range(0, 3500))
    await store.prune(0, 2048)
    assert.deepEqual(await numbersOf(store), range(2048, 3500))
  })
})
