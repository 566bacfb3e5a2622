import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { type Head, heads } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { fill, signedPrune, signedRedaction } from './removals.ts'
import { memoryStore } from './sources.ts'
import {
  checkpointCounts,
  chunksOf,
  everything,
  hex,
  isMalformed,
  linesOf,
  numbered,
  numbersOf,
  range,
  refused,
  replicate,
  requestOf,
  rules,
  textOf,
  unchanged,
} from './support.ts'

/** Prunes an own stream, and answers with what a newcomer has to be told. */
async function prunedAt(store: EventStore, count: number): Promise<{ record: Uint8Array; head: Uint8Array }> {
  const record = await store.prune(0, count)
  const [checkpoint] = await store.checkpoints(0)
  assert.equal(checkpoint?.count, count)
  return { record, head: checkpoint.head }
}

/** What pruning does. */
export const pruning = rules(({ large }) => {
  large('pruning removes the events before a checkpoint; offsets and count stay as they are', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.prune(0, 2048)
    assert.deepEqual(
      (await store.streams()).map(({ count, pruned }) => [count, pruned]),
      [[3100, 2048]],
    )
    const lines = await linesOf(store)
    assert.deepEqual(
      lines.map(({ offset }) => offset),
      range(2048, 3100),
    )
    assert.deepEqual(await numbersOf(store), range(2048, 3100))
    assert.deepEqual(
      await numbersOf(store, { anyOf: [{ tags: ['of7:0'] }], order: 'desc' }),
      range(2048, 3100)
        .filter((n) => n % 7 === 0)
        .reverse(),
    )
    assert.deepEqual(
      await numbersOf(store, { anyOf: [{ tags: ['id:2047'] }, { tags: ['id:2048'] }], order: 'asc' }),
      [2048],
    )
    assert.deepEqual(
      await numbersOf(store, { ...everything, lower: new Map([[0, 5]]), upper: new Map([[0, 2050]]) }),
      [2048, 2049, 2050],
    )
    assert.deepEqual(await numbersOf(store, { ...everything, upper: new Map([[0, 2047]]) }), [])
    assert.deepEqual(await checkpointCounts(store), [2048, 3072])
  })

  large('after pruning the stream goes on where it was', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.prune(0, 3072)
    const { lamport, runs } = await store.append(requestOf(numbered(1100, 3100)))
    assert.equal(lamport, 3100)
    assert.deepEqual(runs, [{ stream: 0, offset: 3100, count: 1100 }])
    assert.deepEqual(await numbersOf(store), range(3072, 4200))
    assert.deepEqual(await checkpointCounts(store), [3072, 4124])
  })

  large('all events of a stream can be pruned when it ends with a checkpoint', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(1024)))
    await store.prune(0, 1024)
    assert.equal(await textOf(store), '')
    assert.deepEqual(
      (await store.streams()).map(({ count, pruned }) => [count, pruned]),
      [[1024, 1024]],
    )
    assert.equal((await store.append(requestOf(numbered(1, 1024)))).lamport, 1024)
    assert.deepEqual(await numbersOf(store), [1024])
  })

  large('pruning elsewhere than at a checkpoint, or a stream that is not there, is refused', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await unchanged(store, async () => {
      for (const count of [1, 1023, 1025, 3100, 5000]) await assert.rejects(store.prune(0, count), refused)
      await assert.rejects(store.prune(1, 1024), refused)
    })
  })

  large('a prune record that says less than one before it is ignored', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.prune(0, 2048)
    await unchanged(store, async () => {
      await store.prune(0, 1024)
      await store.prune(0, 2048)
    })
    await store.prune(0, 3072)
    assert.deepEqual(await numbersOf(store), range(3072, 3100))
  })

  large('other nodes follow a prune record', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    await replicate(source, store)
    const later = await source.prune(0, 2048)
    await store
      .applyPrune(signedPrune(KeyPair.generate(systemRandom), 1024))
      .catch((error) => assert.ok(refused(error)))
    await store.applyPrune(later)
    assert.equal(await textOf(store), await textOf(source))
    assert.deepEqual(
      (await store.streams()).map(({ count, pruned }) => [count, pruned]),
      [[3100, 2048]],
    )
    await source.append(requestOf(numbered(1000, 3100)))
    await replicate(source, store)
    assert.equal(await textOf(store), await textOf(source))
  })

  large(
    'a prune record for another topic, an unknown stream or a checkpoint that has not come, or with a wrong signature, is refused',
    async (t, open) => {
      const key = KeyPair.generate(systemRandom)
      const [store, source] = [await open(t), memoryStore(key)]
      await source.append(requestOf(numbered(1024)))
      await replicate(source, store)
      const damaged = signedPrune(key, 1024)
      damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
      await unchanged(store, async () => {
        await assert.rejects(store.applyPrune(signedPrune(key, 1024, 'another-topic')), refused)
        await assert.rejects(store.applyPrune(signedPrune(key, 1024, 'a-topic', 1)), refused)
        await assert.rejects(store.applyPrune(signedPrune(key, 2048)), refused)
        await assert.rejects(store.applyPrune(damaged), isMalformed)
        await assert.rejects(store.applyPrune(signedRedaction(key, 1024)), isMalformed)
      })
    },
  )

  large('a newcomer starts at the checkpoint of a prune record, and goes on from there', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    const [, , last, rest] = (await chunksOf(source)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
    const { record, head } = await prunedAt(source, 2048)
    await unchanged(store, () => assert.rejects(store.applyPrune(record), refused))
    await store.applyPrune(record, head)
    assert.deepEqual(
      (await store.streams()).map(({ count, pruned }) => [count, pruned]),
      [[2048, 2048]],
    )
    assert.equal(hex(await store.head(0)), hex(head))
    assert.deepEqual(await checkpointCounts(store), [2048])
    assert.equal((await store.append(requestOf([{ stream: 9 }]))).lamport, 2048)
    assert.deepEqual(await store.receive(rest), { state: 'waiting', count: 2048 })
    assert.deepEqual(await store.receive(last), { state: 'stored', count: 3100 })
    assert.deepEqual(await numbersOf(store, { anyOf: [{ tags: ['all'] }], order: 'asc' }), range(2048, 3100))
    assert.deepEqual((await chunksOf(store)).map(hex), [last, rest].map(hex))
  })

  large(
    'who has less than was pruned drops it and starts at the checkpoint, with the chunks that wait there',
    async (t, open) => {
      const [store, source] = [await open(t), memoryStore()]
      await fill(source)
      const chunks = (await chunksOf(source)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
      await store.receive(chunks[0])
      await store.receive(chunks[2])
      await store.receive(chunks[3])
      await store.applyRedaction(await source.redact(0, 2050))
      // What waits may be dropped then, with what is to be removed; the first one still contains that.
      await store.receive(chunks[2])
      for (const chunk of (await chunksOf(source)).slice(2)) await store.receive(chunk)
      const { record, head } = await prunedAt(source, 2048)
      await store.applyPrune(record, head)
      assert.equal(await textOf(store), await textOf(source))
      assert.deepEqual(
        (await store.streams()).map(({ count, pruned }) => [count, pruned]),
        [[3100, 2048]],
      )
      assert.equal((await store.append(requestOf([{}]))).lamport, 3100)
    },
  )

  large('a newcomer does not start at a head that is not the one of the prune record', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await fill(source)
    const stream = { node: key.publicKey, number: 0 }
    const head = heads.decode((await source.checkpoints(0))[1]?.head as Uint8Array)
    const wrong: Head[] = [
      { ...head, checkpoint: false },
      { ...head, count: 1024 },
      { ...head, topic: 'another-topic' },
      { ...head, stream: { ...stream, number: 1 } },
      // The clock would follow it, for good.
      { ...head, lamport: Number.MAX_SAFE_INTEGER - 1 },
    ]
    await unchanged(store, async () => {
      for (const other of wrong)
        await assert.rejects(store.applyPrune(signedPrune(key, 2048), heads.sign(other, key)), refused)
      const forged = heads.sign(head, KeyPair.generate(systemRandom))
      await assert.rejects(store.applyPrune(signedPrune(key, 2048), forged), isMalformed)
    })
    assert.equal((await store.append(requestOf([{}]))).lamport, 0)
  })

  large('a chunk of events that were pruned is not given, those after them are', async (t, open) => {
    const [store, other] = [await open(t), memoryStore()]
    await fill(store)
    for (const chunk of await chunksOf(store)) await other.receive(chunk)
    await store.prune(0, 2048)
    await store.append(requestOf(numbered(5, 3100)))
    await assert.rejects(store.chunk(0, 0), refused)
    await assert.rejects(store.chunk(0, 1024), refused)
    for (const from of [2048, 3072]) await other.receive((await store.chunk(0, from)) as Uint8Array)
    assert.deepEqual(await numbersOf(other), range(0, 3105))
  })
})
