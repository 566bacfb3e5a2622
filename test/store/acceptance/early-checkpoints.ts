import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { type Head, heads } from '../../../src/protocol/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { checkpointsOf, fill, signedPruneAt } from './removals.ts'
import { memoryStore } from './sources.ts'
import {
  checkpointCounts,
  chunksOf,
  hex,
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

async function spansOf(store: EventStore, stream = 0): Promise<[number, number, boolean][]> {
  return (await store.chunkSizes(stream)).map(({ first, end, complete }) => [first, end, complete])
}

/** A receiver that got only the prune record and the chunks after it. */
async function receiverOf(store: EventStore, record: Uint8Array): Promise<EventStore> {
  const receiver = memoryStore()
  const [checkpoint] = await store.checkpoints(0)
  await receiver.applyPrune(record, checkpoint?.head)
  for (const chunk of await chunksOf(store)) await receiver.receive(chunk)
  return receiver
}

async function completeChunks(store: EventStore): Promise<(string | undefined)[]> {
  return (await chunksOf(store)).filter((chunk) => readChunk(chunk).head.checkpoint).map(hex)
}

/** Pruning after any frame, which ends its chunk early. */
export const endingChunksEarly = rules(({ small, large }) => {
  small('pruning after a frame of the unfinished chunk ends it with a checkpoint', async (t, open) => {
    const store = await open(t)
    for (let i = 0; i < 5; i++) await store.append(requestOf(numbered(2, 2 * i)))
    const record = await store.prune(0, 6)
    assert.deepEqual(await checkpointCounts(store), [6])
    assert.deepEqual(await spansOf(store), [[6, 10, false]])
    assert.deepEqual(await numbersOf(store), range(6, 10))
    assert.deepEqual(await numbersOf(await receiverOf(store, record)), range(6, 10))
    const [checkpoint] = await store.checkpoints(0)
    const { count, lamport, checkpoint: isCheckpoint } = heads.verify(checkpoint?.head as Uint8Array)
    assert.deepEqual([count, lamport, isCheckpoint], [6, 5, true])
  })

  small(
    'an own prune record with the head of another history removes nothing, and nothing is signed',
    async (t, open) => {
      const key = KeyPair.generate(systemRandom)
      const [lost, store] = [await open(t, { key }), await open(t, { key })]
      for (let i = 0; i < 10; i++) {
        await lost.append(requestOf(numbered(1, i)))
        await store.append(requestOf(numbered(1, 100 + i)))
      }
      const record = await lost.prune(0, 6)
      const [checkpoint] = await lost.checkpoints(0)
      assert.deepEqual(await store.applyPrune(record, checkpoint?.head), { state: 'fork' })
      assert.deepEqual(await checkpointCounts(store), [])
      assert.deepEqual(await numbersOf(store), range(100, 110))
    },
  )

  small('all events of an unfinished chunk can be pruned, and the stream continues', async (t, open) => {
    const store = await open(t)
    for (const end of [3, 6]) {
      await store.append(requestOf(numbered(3, end - 3)))
      const record = await store.prune(0, end)
      assert.equal(await textOf(store), '')
      assert.deepEqual(await store.chunkSizes(0), [])
      assert.deepEqual(await checkpointCounts(store), [end])
      assert.equal(await textOf(await receiverOf(store, record)), '')
      await unchanged(store, () => store.prune(0, end))
    }
    assert.equal((await store.append(requestOf(numbered(2, 6)))).lamport, 6)
    assert.deepEqual(await numbersOf(store), [6, 7])
    assert.equal(heads.verify((await store.head(0)) as Uint8Array).checkpoint, false)
  })

  large('pruning after a frame of a complete chunk keeps its end', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const record = await store.prune(0, 1024 + 256)
    assert.deepEqual(await checkpointCounts(store), [1280, 2048, 3072])
    assert.deepEqual(await spansOf(store), [
      [1280, 2048, true],
      [2048, 3072, true],
      [3072, 3100, false],
    ])
    assert.deepEqual(await numbersOf(store), range(1280, 3100))
    assert.deepEqual(
      await numbersOf(store, { anyOf: [{ tags: ['of7:0'] }], order: 'desc' }),
      range(1280, 3100)
        .filter((n) => n % 7 === 0)
        .reverse(),
    )
    assert.equal(await textOf(await receiverOf(store, record)), await textOf(store))
    await store.prune(0, 1280 + 128)
    await store.prune(0, 3100)
    assert.deepEqual(await checkpointCounts(store), [3100])
    await store.append(requestOf(numbered(1024, 3100)))
    assert.deepEqual(await checkpointCounts(store), [3100, 4124])
    assert.deepEqual(await numbersOf(store), range(3100, 4124))
  })

  large('the frames of a chunk have their ends and times', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.append(requestOf(numbered(2, 3100)))
    const times = (await linesOf(store)).map(({ timestamp }) => timestamp)
    const ends = async (from: number) => (await store.framesOfChunk(0, from)).map(({ end }) => end)
    assert.deepEqual(await ends(1024), [1152, 1280, 1408, 1536, 1664, 1792, 1920, 2048])
    assert.deepEqual(await ends(3072), [3100, 3102])
    for (const { end, time } of await store.framesOfChunk(0, 1024)) assert.equal(time, times[end - 1])
    await store.prune(0, 1152)
    assert.deepEqual((await ends(1152)).slice(0, 2), [1280, 1408])
  })

  large('other nodes apply a prune record within a chunk, with its head', async (t, open) => {
    for (const count of [1024 + 128, 2048 + 512, 3100]) {
      const [store, source] = [await open(t), memoryStore()]
      await fill(source)
      await replicate(source, store)
      const record = await source.prune(0, count)
      const head = (await source.checkpoints(0))[0]?.head as Uint8Array
      await unchanged(store, () => assert.rejects(store.applyPrune(record), refused))
      await store.applyPrune(record, head)
      assert.equal(await textOf(store), await textOf(source))
      assert.deepEqual(await checkpointCounts(store), await checkpointCounts(source))
      assert.deepEqual(await completeChunks(store), await completeChunks(source))
      await source.append(requestOf(numbered(1100, 3100)))
      await replicate(source, store)
      assert.equal(await textOf(store), await textOf(source))
      assert.deepEqual(await checkpointCounts(store), await checkpointCounts(source))
    }
  })

  large('a prune record within a chunk is refused with a head that the stream contradicts', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await fill(source)
    await replicate(source, store)
    const other = memoryStore(key)
    await other.append(requestOf(numbered(128, 7)))
    const records = [await source.prune(0, 128), await other.prune(0, 128)] as const
    const [[head], [contradicting]] = [await checkpointsOf(source), await checkpointsOf(other)] as [[Head], [Head]]
    const wrong: Head[] = [
      { ...head, checkpoint: false },
      { ...head, count: 256 },
      { ...head, topic: 'other' },
    ]
    await unchanged(store, async () => {
      for (const changed of wrong) await assert.rejects(store.applyPrune(records[0], heads.sign(changed, key)), refused)
      const fork = { state: 'fork' }
      assert.deepEqual(await store.applyPrune(records[0], heads.sign(contradicting, key)), fork)
      for (const given of [head, contradicting])
        assert.deepEqual(await store.applyPrune(records[1], heads.sign(given, key)), fork)
      const middle = { ...head, count: 100, lamport: 99 }
      assert.deepEqual(await store.applyPrune(signedPruneAt(key, middle), heads.sign(middle, key)), fork)
    })
  })
})
