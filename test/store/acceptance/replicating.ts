import assert from 'node:assert/strict'
import { readChunk } from '../../../src/replication/index.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import { checkpointCounts, chunksOf, hex, linesOf, numbered, replicate, requestOf, rules, textOf } from './support.ts'

/** Replication between several stores. */
export const replicating = rules(({ small, large }) => {
  large(
    'a store can be replicated by its heads, checkpoints and chunks, and its replica can be, too',
    async (t, open) => {
      const [source, second, third] = [await open(t), await open(t), await open(t)]
      for (const [i, size] of [5, 1500, 1, 700, 900, 30].entries())
        await source.append(requestOf([...numbered(size, 0, 0), ...numbered(size, 0, i % 2 === 0 ? 1 : 2)]))
      await replicate(source, second)
      await replicate(second, third)
      for (const copy of [second, third]) {
        assert.equal(await textOf(copy), await textOf(source))
        for (const { number, count } of await source.streams()) {
          const head = (await copy.head(number)) as Uint8Array
          assert.deepEqual(await checkpointCounts(copy, number), await checkpointCounts(source, number))
          const own = await source.checkpoints(number)
          assert.deepEqual(
            (await copy.checkpoints(number)).map((checkpoint) => hex(checkpoint.head)),
            own.map((checkpoint) => hex(checkpoint.head)),
          )
          assert.equal((await copy.streams())[number]?.count, count)
          assert.ok(head.length > 0)
          const [chunks, copied] = [await chunksOf(source, number), await chunksOf(copy, number)]
          // The last chunk ends with a head that the source signs again each time.
          assert.deepEqual(copied.slice(0, -1).map(hex), chunks.slice(0, -1).map(hex))
          assert.equal(copied.length, chunks.length)
        }
      }
      assert.deepEqual((await chunksOf(third, 0)).map(hex), (await chunksOf(second, 0)).map(hex))
    },
  )

  large('chunks of a store in memory are relayed byte by byte', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    for (const size of [600, 600, 3, 2000, 12]) await source.append(requestOf(numbered(size)))
    const chunks = await chunksOf(source)
    for (const chunk of chunks) await store.receive(chunk)
    assert.deepEqual((await chunksOf(store)).map(hex), chunks.map(hex))
    assert.equal(hex(await store.head(0)), hex(readChunk(chunks.at(-1) as Uint8Array).signedHead))
  })

  large('two nodes that write concurrently converge to the same events in the same order', async (t, open) => {
    const [a, b] = [await open(t), await open(t)]
    for (let round = 0; round < 4; round++) {
      await a.append(requestOf(numbered(400, 400 * round)))
      await b.append(requestOf(numbered(300, 300 * round)))
      if (round % 2 === 1) {
        for (const chunk of await chunksOf(a, 0)) await b.receive(chunk)
        for (const chunk of await chunksOf(b, 0)) await a.receive(chunk)
      }
    }
    assert.equal(await textOf(a), await textOf(b))
    assert.equal((await linesOf(a)).length, 2800)
  })

  small('a chunk of minimum size is stored and relayed', async (t, open) => {
    const store = await open(t)
    const chunk = new ForgedStream().chunk([{ lamport: 0 }])
    await store.receive(chunk)
    assert.deepEqual((await chunksOf(store)).map(hex), [hex(chunk)])
  })
})
