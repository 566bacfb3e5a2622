import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { type Head, heads } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { naiveRecord } from '../../protocol/naive.ts'
import { checkpointsOf, fill, signedPrune, signedPruneAt, signedRedaction } from './removals.ts'
import { memoryStore } from './sources.ts'
import {
  checkpointCounts,
  chunksOf,
  endOf,
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

/** Prunes an own stream. Returns the record and head that a new receiver needs. */
async function prunedAt(store: EventStore, count: number): Promise<{ record: Uint8Array; head: Uint8Array }> {
  const record = await store.prune(0, count)
  const [checkpoint] = await store.checkpoints(0)
  assert.equal(checkpoint?.count, count)
  return { record, head: checkpoint.head }
}

/** A prune record of version 1, without a hash. */
function legacyPrune(key: KeyPair, count: number): Buffer {
  const bytes = naiveRecord('shoal/prune/1', 'a-topic', key.publicKey, 0, count, 1)
  return Buffer.concat([bytes, key.sign(bytes)])
}

/** Pruning. */
export const pruning = rules(({ large }) => {
  large('pruning removes the events before a checkpoint; offsets and count do not change', async (t, open) => {
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

  large('a stream continues after pruning', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.prune(0, 3072)
    const { lamport, runs } = await store.append(requestOf(numbered(1100, 3100)))
    assert.equal(lamport, 3100)
    assert.deepEqual(runs, [{ stream: 0, offset: 3100, count: 1100 }])
    assert.deepEqual(await numbersOf(store), range(3072, 4200))
    assert.deepEqual(await checkpointCounts(store), [3072, 4124])
  })

  large('all events of a stream that ends with a checkpoint can be pruned', async (t, open) => {
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

  large('pruning at an offset where no frame ends, or in an unknown stream, is refused', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await unchanged(store, async () => {
      for (const count of [1, 127, 1023, 1025, 3099, 5000]) await assert.rejects(store.prune(0, count), refused)
      await assert.rejects(store.prune(1, 1024), refused)
    })
  })

  large('a prune record below an earlier one is ignored', async (t, open) => {
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

  large('other nodes apply a prune record', async (t, open) => {
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
    'a prune record of another topic, an unknown stream, a missing checkpoint or with an invalid signature is refused',
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
        await assert.rejects(store.applyPrune(legacyPrune(key, 1024)), isMalformed)
        await assert.rejects(store.applyPrune(signedRedaction(key, 1024)), isMalformed)
      })
    },
  )

  large('a new receiver starts at the checkpoint of a prune record, and continues from there', async (t, open) => {
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
    assert.deepEqual(await store.receive(rest, { before: endOf(last) }), { state: 'waiting', count: 2048 })
    assert.deepEqual(await store.receive(last), { state: 'stored', count: 3100 })
    assert.deepEqual(await numbersOf(store, { anyOf: [{ tags: ['all'] }], order: 'asc' }), range(2048, 3100))
    assert.deepEqual((await chunksOf(store)).map(hex), [last, rest].map(hex))
  })

  large(
    'a receiver with fewer events than were pruned drops them and starts at the checkpoint, with its waiting chunks',
    async (t, open) => {
      const [store, source] = [await open(t), memoryStore()]
      await fill(source)
      const chunks = (await chunksOf(source)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
      await store.receive(chunks[0])
      await store.receive(chunks[2], { before: endOf(chunks[1]) })
      await store.receive(chunks[3], { before: endOf(chunks[2]) })
      await store.applyRedaction(await source.redact(0, [2050]))
      // Waiting chunks may be dropped with the pruned events; the first one still contains some of them.
      assert.equal((await store.receive(chunks[2], { before: endOf(chunks[1]) })).state, 'gap')
      for (const [i, chunk] of (await chunksOf(source)).slice(2).entries())
        assert.equal((await store.receive(chunk, { before: endOf(chunks[i + 1]) })).state, 'waiting')
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

  large('a new receiver does not start at a head other than that of the prune record', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await fill(source)
    const stream = { node: key.publicKey, number: 0 }
    const head = (await checkpointsOf(source))[1] as Head
    const record = signedPruneAt(key, head)
    const wrong: Head[] = [
      { ...head, checkpoint: false },
      { ...head, count: 1024 },
      { ...head, topic: 'another-topic' },
      { ...head, stream: { ...stream, number: 1 } },
      // The clock would follow it, for good.
      { ...head, lamport: Number.MAX_SAFE_INTEGER - 1 },
    ]
    await unchanged(store, async () => {
      for (const other of wrong) await assert.rejects(store.applyPrune(record, heads.sign(other, key)), refused)
      const forged = heads.sign(head, KeyPair.generate(systemRandom))
      await assert.rejects(store.applyPrune(record, forged), isMalformed)
    })
    assert.equal((await store.append(requestOf([{}]))).lamport, 0)
  })

  large('a prune record cannot be combined with another branch of a fork', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source, branch] = [await open(t), memoryStore(key), memoryStore(key)]
    await fill(source)
    await source.append(requestOf(numbered(100, 3100)))
    for (const from of [0, 1024, 2048]) await branch.append(requestOf(numbered(1024, from + 7)))
    const [ours, theirs] = [await checkpointsOf(source), await checkpointsOf(branch)] as [Head[], Head[]]
    const fork = async (record: Head, head?: Head) =>
      unchanged(store, async () =>
        assert.deepEqual(await store.applyPrune(signedPruneAt(key, record), head && heads.sign(head, key)), {
          state: 'fork',
        }),
      )
    // A new receiver has nothing to compare with but the head.
    await fork(theirs[0] as Head, ours[0] as Head)
    await replicate(source, store)
    for (const head of [undefined, theirs[1], ours[1]]) await fork(theirs[1] as Head, head)
    await fork({ ...(ours[1] as Head), lamport: 2048 })
    // No frame ends there.
    await fork({ ...(ours[1] as Head), count: 2047 }, ours[1])
    assert.deepEqual(await store.applyPrune(signedPruneAt(key, ours[1] as Head)), { state: 'applied' })
    assert.deepEqual(await numbersOf(store), range(2048, 3200))
    // The hash of the pruned checkpoint is known, earlier ones are not.
    await fork(theirs[1] as Head)
    for (const known of [ours[0], ours[1], theirs[0]] as Head[])
      assert.deepEqual(await store.applyPrune(signedPruneAt(key, known)), { state: 'known' })
  })

  large('a chunk of pruned events is not available, later ones are', async (t, open) => {
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
