import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import { nowMicros } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import {
  assertSame,
  checkpointCounts,
  chunksOf,
  endOf,
  hex,
  idOf,
  isMalformed,
  linesOf,
  numbered,
  numbersOf,
  range,
  requestOf,
  rules,
  streamOf,
  textOf,
  unchanged,
} from './support.ts'

/** A stream of another node with a number of full chunks and a partial one; `begun` has the first four events. */
async function chunkedSource(chunks: number): Promise<{ source: EventStore; chunks: Uint8Array[]; begun: Uint8Array }> {
  const source = memoryStore()
  await source.append(requestOf(numbered(4)))
  const begun = (await source.chunk(0, 0)) as Uint8Array
  await source.append(requestOf(numbered(1020, 4)))
  for (let i = 1; i < chunks; i++) await source.append(requestOf(numbered(1024, 1024 * i)))
  await source.append(requestOf(numbered(10, 1024 * chunks)))
  return { source, chunks: await chunksOf(source), begun }
}

/** Replaces the first occurrence of a text with one of the same length. */
function replaced(bytes: Uint8Array, from: string, to: string): Buffer {
  const changed = Buffer.from(bytes)
  const at = changed.indexOf(from)
  assert.ok(at >= 0 && from.length === to.length)
  changed.write(to, at)
  return changed
}

/** Receiving chunks of other nodes. */
export const receiving = rules(({ small, large }) => {
  large('chunks that arrive in order are stored one by one', async (t, open) => {
    const store = await open(t)
    const { source, chunks } = await chunkedSource(2)
    for (const [i, chunk] of chunks.entries())
      assert.deepEqual(await store.receive(chunk), { state: 'stored', count: Math.min(1024 * (i + 1), 2058) })
    assert.equal(await textOf(store), await textOf(source))
    assert.deepEqual(await checkpointCounts(store), [1024, 2048])
    assert.deepEqual(
      (await store.streams()).map(({ own, count }) => [own, count]),
      [[false, 2058]],
    )
  })

  large('chunks that arrive early wait, and are stored with the missing one', async (t, open) => {
    const store = await open(t)
    const { source, chunks, begun } = await chunkedSource(4)
    await store.receive(begun)
    await unchanged(store, async () => {
      for (const i of [4, 3, 2, 1]) {
        const before = endOf(chunks[i - 1])
        assert.deepEqual(await store.receive(chunks[i] as Uint8Array, { before }), { state: 'waiting', count: 4 })
      }
    })
    assert.deepEqual(await store.receive(chunks[0] as Uint8Array), { state: 'stored', count: 4106 })
    assert.equal(await textOf(store), await textOf(source))
    assert.deepEqual(await checkpointCounts(store), [1024, 2048, 3072, 4096])
  })

  large('a gap between waiting chunks remains until it is filled', async (t, open) => {
    const store = await open(t)
    const { source, chunks, begun } = await chunkedSource(4)
    const [a, b, c, d, e] = chunks as [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array]
    await store.receive(begun)
    await store.receive(b, { before: endOf(a) })
    await store.receive(e, { before: endOf(d) })
    await store.receive(d, { before: endOf(c) })
    assert.deepEqual(await store.receive(a), { state: 'stored', count: 2048 })
    assert.deepEqual(await numbersOf(store), range(0, 2048))
    assert.deepEqual(await store.receive(c), { state: 'stored', count: 4106 })
    assert.equal(await textOf(store), await textOf(source))
  })

  large('a duplicate chunk is known, and changes nothing', async (t, open) => {
    const store = await open(t)
    const { chunks } = await chunkedSource(2)
    for (const chunk of chunks) await store.receive(chunk)
    await unchanged(store, async () => {
      for (const chunk of chunks) assert.deepEqual(await store.receive(chunk), { state: 'known', count: 2058 })
    })
  })

  large('a chunk that overlaps stored events adds the new ones', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    const newest = async () => (await source.chunk(0, 0)) as Uint8Array
    await source.append(requestOf(numbered(300)))
    await source.append(requestOf(numbered(100, 300)))
    const partial = await newest()
    await source.append(requestOf(numbered(200, 400)))
    await source.append(requestOf(numbered(500, 600)))
    const longer = await newest()
    await source.append(requestOf(numbered(40, 1100)))
    assert.deepEqual(await store.receive(partial), { state: 'stored', count: 400 })
    assert.deepEqual(await checkpointCounts(store), [])
    assert.deepEqual(await store.receive(longer), { state: 'stored', count: 1100 })
    assert.deepEqual(await checkpointCounts(store), [1100])
    assert.deepEqual(await store.receive(partial), { state: 'known', count: 1100 })
    assert.deepEqual(await store.receive((await source.chunk(0, 1100)) as Uint8Array), { state: 'stored', count: 1140 })
    assert.equal(await textOf(store), await textOf(source))
  })

  large('chunks of several streams and nodes do not affect each other', async (t, open) => {
    const store = await open(t)
    const sources = [memoryStore(), memoryStore()]
    const chunks: Uint8Array[] = []
    for (const source of sources) {
      await source.append(requestOf([...numbered(1200, 0, 0), ...numbered(1200, 0, 1)]))
      await source.append(requestOf([...numbered(300, 1200, 0), ...numbered(300, 1200, 1)]))
      chunks.push(...(await chunksOf(source, 0)), ...(await chunksOf(source, 1)))
    }
    // Every first chunk before the second one of the same stream.
    const shuffled = [...chunks.filter((_, i) => i % 2 === 0), ...chunks.filter((_, i) => i % 2 === 1).toReversed()]
    for (const chunk of shuffled) assert.equal((await store.receive(chunk)).state, 'stored')
    assert.deepEqual(
      (await store.streams()).map(({ count }) => count),
      [1500, 1500, 1500, 1500],
    )
    for (const source of sources) {
      const ids = new Set((await linesOf(source)).map(({ stream }) => stream))
      const lines = (await linesOf(store)).filter(({ stream }) => ids.has(stream))
      assertSame(lines, await linesOf(source))
    }
  })

  small('a chunk with the signature of another node is refused', async (t, open) => {
    const store = await open(t)
    await unchanged(store, () =>
      assert.rejects(
        store.receive(new ForgedStream().chunk([{ lamport: 1 }], KeyPair.generate(systemRandom))),
        isMalformed,
      ),
    )
  })

  small('a chunk of another topic is refused', async (t, open) => {
    const store = await open(t)
    const chunk = new ForgedStream(KeyPair.generate(systemRandom), 'another-topic').chunk([{ lamport: 1 }])
    await unchanged(store, () => assert.rejects(store.receive(chunk), isMalformed))
  })

  small(
    "another history of this node's own stream freezes it, and an unknown own stream is stored",
    async (t, open) => {
      const key = KeyPair.generate(systemRandom)
      const store = await open(t, { key })
      await store.append(requestOf(numbered(1)))
      const other = memoryStore(key)
      await other.append(requestOf([...numbered(3), ...numbered(3, 0, 1)]))
      const receive = async (stream: number) => store.receive((await other.chunk(stream, 0)) as Uint8Array)
      assert.deepEqual(await receive(0), { state: 'forked', count: 1 })
      assert.deepEqual(await receive(1), { state: 'stored', count: 3 })
    },
  )

  small('a chunk that is corrupted anywhere is refused', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await source.append(requestOf(numbered(4)))
    await store.receive((await source.chunk(0, 0)) as Uint8Array)
    await source.append(requestOf(numbered(2, 4)))
    const chunk = Buffer.from((await source.chunk(0, 0)) as Uint8Array)
    // Events that are already stored are not checked again, so their corruption is harmless.
    const [from, to] = readChunk(chunk).frames[0]?.record ?? [0, 0]
    await unchanged(store, async () => {
      for (let at = 0; at < chunk.length; at += at + 3 >= from && at < to ? to - at : 3) {
        const damaged = Buffer.from(chunk)
        damaged[at] = (damaged[at] ?? 0) ^ 0x10
        await assert.rejects(store.receive(damaged), isMalformed, `corrupted at ${at}`)
      }
      for (const end of [0, 1, 20, chunk.length - 1])
        await assert.rejects(store.receive(chunk.subarray(0, end)), isMalformed)
      await assert.rejects(store.receive(Buffer.concat([chunk, Buffer.of(0)])), isMalformed)
    })
    assert.deepEqual(await store.receive(chunk), { state: 'stored', count: 6 })
  })

  large('a chunk with a forged payload is refused', async (t, open) => {
    const store = await open(t)
    const { chunks } = await chunkedSource(1)
    const forged = replaced(chunks[0] as Uint8Array, '{"n":77}', '{"n":78}')
    await unchanged(store, () => assert.rejects(store.receive(forged), isMalformed))
    assert.deepEqual(await store.receive(chunks[0] as Uint8Array), { state: 'stored', count: 1024 })
  })

  large('a forged early chunk is refused, and does not block the genuine one', async (t, open) => {
    const store = await open(t)
    const { source, chunks, begun } = await chunkedSource(3)
    const [a, b, c, d] = chunks as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
    await store.receive(begun)
    const forged = replaced(b, '{"n":1077}', '{"n":1078}')
    await assert.rejects(store.receive(forged, { before: endOf(a) }), isMalformed)
    assert.deepEqual(await store.receive(forged), { state: 'gap', count: 4 })
    assert.equal((await store.receive(b, { before: endOf(a) })).state, 'waiting')
    assert.equal((await store.receive(c, { before: endOf(b) })).state, 'waiting')
    assert.deepEqual(await store.receive(a), { state: 'stored', count: 3072 })
    assert.deepEqual(await store.receive(d), { state: 'stored', count: 3082 })
    assert.equal(await textOf(store), await textOf(source))
  })

  small(
    'an early chunk of an unknown stream, or without the head before it, leaves nothing behind',
    async (t, open) => {
      const store = await open(t)
      const stream = new ForgedStream()
      const [first, second, third] = [0, 1, 2].map((lamport) => stream.chunk([{ lamport }])) as [Buffer, Buffer, Buffer]
      await unchanged(store, async () => {
        assert.deepEqual(await store.receive(second, { before: endOf(first) }), { state: 'gap', count: 0 })
        assert.deepEqual(await store.receive(third), { state: 'gap', count: 0 })
      })
      await store.receive(first)
      assert.deepEqual(await store.receive(third), { state: 'gap', count: 1 })
      assert.deepEqual(await store.receive(second), { state: 'stored', count: 2 })
    },
  )

  small('the number of waiting chunks is limited, and the stream can still be completed', async (t, open) => {
    const store = await open(t)
    const forged = new ForgedStream()
    const chunks = range(0, limits.waitingChunks + 7).map((i) => forged.chunk([{ lamport: i }]))
    await store.receive(chunks[0] as Uint8Array)
    const kept = limits.waitingChunks + 2
    for (const i of range(2, chunks.length)) {
      const received = await store.receive(chunks[i] as Uint8Array, { before: endOf(chunks[i - 1]) })
      assert.equal(received.state, i < kept ? 'waiting' : 'gap')
    }
    assert.deepEqual(await store.receive(chunks[1] as Uint8Array), { state: 'stored', count: kept })
    for (const chunk of chunks.slice(kept)) assert.equal((await store.receive(chunk)).state, 'stored')
    assert.equal((await linesOf(store)).length, chunks.length)
  })

  small('the size of the waiting chunks of a stream is limited, and another stream still has room', async (t, open) => {
    const store = await open(t)
    const payload = JSON.stringify('x'.repeat(7 * 1024 * 1024))
    const fits = Math.floor(limits.waitingBytes / payload.length)
    for (const stream of [new ForgedStream(), new ForgedStream()]) {
      await store.receive(stream.chunk([{ lamport: 0 }]))
      let before = endOf(stream.chunk([{ lamport: 1 }]))
      for (const i of range(0, fits + 1)) {
        const chunk = stream.chunk([{ lamport: 2 + i, payload }])
        assert.equal((await store.receive(chunk, { before })).state, i < fits ? 'waiting' : 'gap')
        before = endOf(chunk)
      }
    }
  })

  small('the number of waiting chunks of all streams together is limited', async (t, open) => {
    const store = await open(t)
    const states = new Map<string, number>()
    for (const _ of range(0, limits.waitingChunksInAll / limits.waitingChunks + 1)) {
      const stream = new ForgedStream()
      await store.receive(stream.chunk([{ lamport: 0 }]))
      let before = endOf(stream.chunk([{ lamport: 1 }]))
      for (const i of range(0, limits.waitingChunks)) {
        const chunk = stream.chunk([{ lamport: 2 + i }])
        const { state } = await store.receive(chunk, { before })
        states.set(state, (states.get(state) ?? 0) + 1)
        before = endOf(chunk)
      }
    }
    assert.deepEqual(
      [...states],
      [
        ['waiting', limits.waitingChunksInAll],
        ['gap', limits.waitingChunks],
      ],
    )
  })

  small('chunks with lamport timestamps more than a day ahead of the clock are not stored', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(1)))
    const hour = 3600e6
    const ahead = (lamport: number) => store.receive(new ForgedStream().chunk([{ lamport: 1 }, { lamport }]))
    await unchanged(store, async () => {
      assert.deepEqual(await ahead(nowMicros() + 25 * hour), { state: 'early', count: 0 })
      assert.deepEqual(await ahead(Number.MAX_SAFE_INTEGER), { state: 'early', count: 0 })
    })
    assert.equal((await store.append(requestOf([{}]))).lamport, 1)
    const high = nowMicros() + 23 * hour
    assert.deepEqual(await ahead(high), { state: 'stored', count: 2 })
    assert.equal((await store.append(requestOf([{}]))).lamport, high + 1)
  })

  small('the next own event sorts after all received events', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    const source = memoryStore()
    await source.append(requestOf(numbered(50)))
    await store.append(requestOf(numbered(3, 100)))
    await store.receive((await source.chunk(0, 0)) as Uint8Array)
    assert.equal((await store.append(requestOf(numbered(1, 200)))).lamport, 50)
    await source.append(requestOf(numbered(1, 50)))
    await store.receive((await source.chunk(0, 0)) as Uint8Array)
    assert.equal((await store.append(requestOf(numbered(1, 201)))).lamport, 51)
    assert.deepEqual((await numbersOf(store)).slice(-1), [201])
    assert.equal((await streamOf(store, idOf(key))).count, 5)
  })

  large('a waiting chunk does not advance the clock', async (t, open) => {
    const store = await open(t)
    const { chunks, begun } = await chunkedSource(1)
    await store.receive(begun)
    assert.equal((await store.receive(chunks[1] as Uint8Array, { before: endOf(chunks[0]) })).state, 'waiting')
    assert.equal((await store.append(requestOf([{}]))).lamport, 4)
    await store.receive(chunks[0] as Uint8Array)
    assert.equal((await store.append(requestOf([{}]))).lamport, 1034)
  })

  large('any timestamp of another node is kept', async (t, open) => {
    const store = await open(t)
    const forged = new ForgedStream()
    const times = [0, 2 ** 53 - 1, 5, 2 ** 52, 2 ** 52 - 1, 0, 2 ** 53 - 1, 2 ** 52 + 1, 1]
    await store.receive(forged.chunk(times.map((time, lamport) => ({ lamport, time }))))
    assert.deepEqual(
      (await linesOf(store)).map(({ timestamp }) => timestamp),
      times,
    )
    // More than a thousand events, so that they are sealed.
    const more = range(0, 1024).map((i) => ({ lamport: 100 + i, time: times[i % times.length] as number }))
    await store.receive(forged.chunk(more))
    assert.deepEqual(
      (await linesOf(store)).slice(times.length).map(({ timestamp }) => timestamp),
      more.map(({ time }) => time),
    )
  })

  large('the caller may reuse the buffer of a received chunk', async (t, open) => {
    const store = await open(t)
    const { source, chunks, begun } = await chunkedSource(1)
    await store.receive(begun)
    for (const chunk of chunks.toReversed()) {
      const [given, before] = [Buffer.from(chunk), Buffer.from(endOf(chunks[0]))]
      await store.receive(given, { before })
      given.fill(0)
      before.fill(0)
    }
    assert.equal(await textOf(store), await textOf(source))
    assert.deepEqual((await chunksOf(store)).map(hex), chunks.map(hex))
  })
})
