import assert from 'node:assert/strict'
import type { EventStore } from '../../../src/store/port/index.ts'
import { noise } from '../../support/noise.ts'
import { fill } from './removals.ts'
import { memoryStore } from './sources.ts'
import { linesOf, numbered, refused, replicate, requestOf, rules } from './support.ts'

async function spansOf(store: EventStore, stream = 0): Promise<[number, number, boolean][]> {
  return (await store.chunkSizes(stream)).map(({ first, end, complete }) => [first, end, complete])
}

/** An event that compresses to no less than half of its size. */
const incompressible = (bytes: number) => ({ payload: JSON.stringify(noise(bytes / 2).toString('hex')) })

/** Information about chunks without reading them. */
export const sizing = rules(({ small, large }) => {
  small('an unknown stream has no chunks, and a new stream has one incomplete chunk', async (t, open) => {
    const store = await open(t)
    assert.deepEqual(await store.chunkSizes(0), [])
    await store.append(requestOf(numbered(3)))
    await store.append(requestOf(numbered(2, 3)))
    assert.deepEqual(await spansOf(store), [[0, 5, false]])
  })

  large('chunks are contiguous from the pruned offset to the end of the stream', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const last = [3072, 3100, false]
    assert.deepEqual(await spansOf(store), [[0, 1024, true], [1024, 2048, true], [2048, 3072, true], last])
    await store.prune(0, 2048)
    assert.deepEqual(await spansOf(store), [[2048, 3072, true], last])
    await store.prune(0, 3072)
    assert.deepEqual(await spansOf(store), [last])
  })

  large(
    'a stream that ends with a checkpoint has only complete chunks, or none when it is pruned completely',
    async (t, open) => {
      const store = await open(t)
      for (let i = 0; i < 4; i++) await store.append(requestOf(numbered(256, 256 * i)))
      assert.deepEqual(await spansOf(store), [[0, 1024, true]])
      await store.prune(0, 1024)
      assert.deepEqual(await store.chunkSizes(0), [])
    },
  )

  large('the size of a chunk is the size of its events, wherever they are stored', async (t, open) => {
    const store = await open(t)
    const sizes = [1_200_000, 2_400_000, 100_000]
    for (const size of sizes) await store.append(requestOf([{ payload: '1' }, incompressible(size), { stream: 1 }]))
    const chunks = await store.chunkSizes(0)
    assert.deepEqual(
      chunks.map(({ end }) => end),
      [2, 4, 6],
    )
    for (const [i, { bytes }] of chunks.entries()) {
      const size = sizes[i] ?? 0
      assert.ok(bytes >= size / 2 && bytes <= size + 1000, `${bytes} bytes for ${size}`)
    }
  })

  large('streams of other nodes have the same chunks', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    await replicate(source, store)
    assert.deepEqual(await spansOf(store), await spansOf(source))
  })

  large('the newest timestamp is found by scanning backwards, across as many blocks as necessary', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const times = (await linesOf(store)).map(({ timestamp }) => timestamp)
    for (const [from, to] of [
      [0, 3099],
      [1000, 1030],
      [0, 1023],
      [3080, 3099],
      [5, 5],
    ] as const) {
      let newest = 0
      for (let at = to; at >= from; ) {
        const { first, time } = await store.newestTime(0, from, at)
        assert.ok(first >= from && first <= at)
        assert.equal(time, Math.max(...times.slice(first, at + 1)))
        newest = Math.max(newest, time)
        at = first - 1
      }
      assert.equal(newest, Math.max(...times.slice(from, to + 1)))
    }
    await store.prune(0, 1024)
    await assert.rejects(store.newestTime(0, 0, 1023), refused)
  })
})
