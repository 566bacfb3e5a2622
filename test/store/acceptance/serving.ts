import assert from 'node:assert/strict'
import { format } from '../../../src/base/format.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { genesis, heads } from '../../../src/protocol/index.ts'
import { hashThrough, readChunk } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { fill } from './removals.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import { chunksOf, hex, isMalformed, numbered, range, refused, replicate, requestOf, rules, textOf } from './support.ts'

/** The offsets at which the frames of a stream start or end. */
async function bordersOf(store: EventStore, stream = 0): Promise<number[]> {
  const frames = (await chunksOf(store, stream)).flatMap((chunk) => readChunk(chunk).frames)
  return [...new Set(frames.flatMap(({ first, count }) => [first, first + count]))]
}

/** Sending streams to other nodes, and comparing them with their heads. */
export const serving = rules(({ small, large }) => {
  large('a chunk is served from every frame border, by the source and by a replica', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    for (const size of [3, 600, 1, 500, 1200, 7]) await source.append(requestOf(numbered(size)))
    await replicate(source, store)
    const borders = await bordersOf(source)
    for (const from of borders.slice(0, -1)) {
      const [chunk, expected] = [await store.chunk(0, from), await source.chunk(0, from)]
      assert.ok(chunk && expected && Buffer.compare(chunk, expected) === 0, `from ${from}`)
      const { first, head } = readChunk(chunk as Uint8Array)
      assert.equal(first, from)
      const end = (await store.checkpoints(0)).find(({ count }) => count > from)?.count ?? borders.at(-1)
      assert.equal(head.count, end)
    }
    assert.equal(await store.chunk(0, borders.at(-1) as number), undefined)
  })

  large('a node that has half of a chunk gets the rest of it', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    const half = memoryStore()
    for (let i = 0; i < 8; i++) {
      await source.append(requestOf(numbered(128, 128 * i)))
      // It has got the first frames one by one.
      if (i < 5) await half.receive((await source.chunk(0, 128 * i)) as Uint8Array)
    }
    await replicate(source, store)
    assert.equal((await half.streams())[0]?.count, 640)
    assert.equal((await half.receive((await store.chunk(0, 640)) as Uint8Array)).state, 'stored')
    assert.equal(await textOf(half), await textOf(source))
    assert.equal(hex((await half.checkpoints(0))[0]?.head), hex((await source.checkpoints(0))[0]?.head))
  })

  large('an offset within a frame is refused, and the error names the borders of the frame', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const replica = await open(t)
    await replicate(store, replica)
    for (const node of [store, replica])
      for (const [from, first, end] of [
        [1, 0, 128],
        [1151, 1024, 1152],
        [1153, 1152, 1280],
        [3099, 3072, 3100],
      ] as const) {
        const borders = { code: 'ERR_INVALID_INPUT', message: new RegExp(`in the frame from ${first} to ${end}:`) }
        await assert.rejects(node.chunk(0, from), borders)
        await assert.rejects(node.chunks(0, from, 1), borders)
      }
    for (const from of [-1, 0.5, Number.NaN]) await assert.rejects(store.chunk(0, from), refused)
    for (const size of [0, -1]) await assert.rejects(store.chunks(0, 0, size), refused)
  })

  large('a chunk that is larger than the given size is not served', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const { length } = (await store.chunk(0, 128)) as Uint8Array
    assert.equal(await store.chunk(0, 128, length - 1), undefined)
    assert.equal((await store.chunk(0, 128, length))?.length, length)
  })

  large('several chunks are read at a time, up to a size, but at least one', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const all = await chunksOf(store)
    const [first, second] = all.map(({ length }) => length) as [number, number]
    const ends = async (from: number, size: number) =>
      (await store.chunks(0, from, size)).map((chunk) => readChunk(chunk).head.count)
    assert.deepEqual(await ends(0, 1), [1024])
    assert.deepEqual(await ends(0, first + second - 1), [1024])
    assert.deepEqual(await ends(0, first + second), [1024, 2048])
    assert.deepEqual(await ends(0, format.chunkBytes), [1024, 2048, 3072, 3100])
    assert.deepEqual(await ends(1152, format.chunkBytes), [2048, 3072, 3100])
    assert.deepEqual(await ends(3100, format.chunkBytes), [])
    assert.deepEqual(await store.chunks(9, 0, 1), [])
    const other = memoryStore()
    for (const chunk of await store.chunks(0, 0, format.chunkBytes)) await other.receive(chunk)
    assert.equal(await textOf(other), await textOf(store))
    await store.prune(0, 1024)
    await assert.rejects(store.chunks(0, 0, 1), refused)
    assert.deepEqual(await ends(1024, format.chunkBytes), [2048, 3072, 3100])
  })

  large('chunks from a frame border have redacted payloads removed', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.redact(0, [200])
    const { frames } = readChunk((await store.chunk(0, 128)) as Uint8Array)
    assert.deepEqual([frames[0]?.first, frames[0]?.payloads[2 * 72]], [128, -1])
  })

  large('the chain hash is known at every frame border, of own streams and of others', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    for (const node of [store, source]) {
      await node.append(requestOf(numbered(3)))
      await fill(node)
    }
    await replicate(source, store)
    for (const { number, key, count } of await store.streams()) {
      let hash = genesis('a-topic', key)
      const expected = new Map([[0, hash]])
      for (const { frames } of (await chunksOf(store, number)).map((chunk) => readChunk(chunk)))
        for (const frame of frames) {
          hash = hashThrough([frame], hash)
          expected.set(frame.first + frame.count, hash)
        }
      for (const at of [...expected.keys(), 1, 2, 1000, count - 1, count + 1, count + 1000])
        assert.equal(await store.hashAt(number, at), expected.get(at), `stream ${number} after ${at} events`)
      assert.ok(expected.size > 20)
    }
    assert.equal(await store.hashAt(9, 0), undefined)
    await assert.rejects(store.hashAt(0, -1), refused)
    const [{ count, head }] = (await store.checkpoints(0)) as [{ count: number; head: Uint8Array }]
    await store.prune(0, count)
    assert.equal(await store.hashAt(0, count), heads.decode(head).hash)
    for (const at of [1, 3, count - 1]) assert.equal(await store.hashAt(0, at), 'pruned')
    assert.equal(await store.hashAt(0, count + 1), undefined)
  })

  large('a head is compared with the chain of its stream', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source, fork] = [await open(t), memoryStore(key), memoryStore(key)]
    const old: Uint8Array[] = []
    for (const size of [5, 1500, 20]) {
      await source.append(requestOf(numbered(size)))
      await fork.append(requestOf(numbered(size, 7)))
      old.push((await source.head(0)) as Uint8Array)
    }
    assert.equal(await store.contains(old[0] as Uint8Array), 'ahead')
    await replicate(source, store)
    for (const head of old) assert.equal(await store.contains(head), 'contained')
    assert.equal(await store.contains((await fork.head(0)) as Uint8Array), 'contradicts')
    for (const { head } of await fork.checkpoints(0)) assert.equal(await store.contains(head), 'contradicts')
    await source.append(requestOf(numbered(1)))
    assert.equal(await store.contains((await source.head(0)) as Uint8Array), 'ahead')
    const record = await source.prune(0, 1505)
    await store.applyPrune(record, (await source.checkpoints(0))[0]?.head)
    assert.equal(await store.contains(old[0] as Uint8Array), 'pruned')
    assert.equal(await store.contains(old[1] as Uint8Array), 'contained')
    assert.equal(await store.contains(old[2] as Uint8Array), 'contained')
  })

  small('the own head and its copy on another node are on the chain', async (t, open) => {
    const [store, replica] = [await open(t), await open(t)]
    for (const count of range(1, 4)) {
      await store.append(requestOf(numbered(count)))
      await replicate(store, replica)
      for (const node of [store, replica])
        assert.equal(await node.contains((await store.head(0)) as Uint8Array), 'contained')
    }
  })

  small('a head that is not signed by the node of its stream, or of another topic, is refused', async (t, open) => {
    const store = await open(t)
    const key = KeyPair.generate(systemRandom)
    const forged = readChunk(new ForgedStream(key).chunk([{ lamport: 1 }])).head
    const wrong = heads.sign(forged, KeyPair.generate(systemRandom))
    await assert.rejects(store.contains(wrong), isMalformed)
    await assert.rejects(store.contains(wrong.subarray(1)), isMalformed)
    await assert.rejects(store.contains(heads.sign({ ...forged, topic: 'another' }, key)), refused)
    assert.equal(await store.contains(heads.sign(forged, key)), 'ahead')
  })
})
