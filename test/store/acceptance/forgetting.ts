import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { Live } from './jobs.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import {
  chunksOf,
  idOf,
  linesOf,
  numbered,
  numbersOf,
  range,
  refused,
  requestOf,
  rules,
  textOf,
  unchanged,
} from './support.ts'

function keyOf({ publicKey }: KeyPair, number = 0) {
  return { node: publicKey, number }
}

async function counts(store: EventStore): Promise<[boolean, number][]> {
  return (await store.streams()).map(({ own, count }) => [own, count])
}

/** Forgetting streams of other nodes. */
export const forgetting = rules(({ small, large }) => {
  large('a forgotten stream is gone, and others stay', async (t, open) => {
    const store = await open(t)
    const keys = [KeyPair.generate(systemRandom), KeyPair.generate(systemRandom)] as const
    const sources = keys.map((key) => memoryStore(key))
    await store.append(requestOf(numbered(3, 100)))
    for (const source of sources) {
      await source.append(requestOf(numbered(1200)))
      for (const chunk of await chunksOf(source)) await store.receive(chunk)
    }
    await store.applyRedaction((await sources[0]?.redact(0, [7])) as Uint8Array)
    const head = (await store.head(1)) as Uint8Array
    const others = (await linesOf(store)).filter(({ stream }) => stream !== idOf(keys[0]))
    assert.equal(await store.forgetStream(keyOf(keys[0])), true)
    assert.deepEqual(await counts(store), [
      [true, 3],
      [false, 1200],
    ])
    assert.deepEqual(
      (await linesOf(store)).map(({ text }) => text),
      others.map(({ text }) => text),
    )
    assert.equal((await numbersOf(store, { anyOf: [{ tags: ['id:5'] }], order: 'desc' })).length, 1)
    assert.equal(await store.head(1), undefined)
    assert.equal(await store.chunk(1, 1200), undefined)
    assert.deepEqual(await store.chunks(1, 0, 1000), [])
    assert.equal(await store.hashAt(1, 1200), undefined)
    assert.equal(await store.streamOf(keyOf(keys[0])), undefined)
    assert.equal((await store.streamOf(keyOf(keys[1])))?.number, 2)
    assert.equal(await store.contains(head), 'ahead')
    assert.deepEqual(
      (await store.heads()).map(({ number }) => number),
      [0, 2],
    )
    assert.deepEqual(await store.records(1), { redactions: [] })
    assert.deepEqual(await store.checkpoints(1), [])
    await unchanged(store, async () => assert.equal(await store.forgetStream(keyOf(keys[0])), false))
  })

  large('a forgotten stream can be received again', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await source.append(requestOf(numbered(1200)))
    const chunks = await chunksOf(source)
    for (const chunk of chunks) await store.receive(chunk)
    await store.forgetStream(keyOf(key))
    assert.deepEqual(await store.receive(chunks[1] as Uint8Array), { state: 'gap', count: 0 })
    for (const chunk of chunks) await store.receive(chunk)
    assert.deepEqual(await counts(store), [[false, 1200]])
    assert.equal(await textOf(store), await textOf(source))
    await source.append(requestOf(numbered(5, 1200)))
    await store.receive((await chunksOf(source)).at(-1) as Uint8Array)
    assert.deepEqual(await numbersOf(store), range(0, 1205))
  })

  small('an own stream cannot be forgotten', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    await store.append(requestOf(numbered(3)))
    await unchanged(store, async () => {
      await assert.rejects(store.forgetStream(keyOf(key)), refused)
      await assert.rejects(store.forgetStream(keyOf(key, 4)), refused)
    })
  })

  small('a forgotten stream returns its part of the budget', async (t, open) => {
    const store = await open(t)
    const keys = range(0, limits.nodesPerPeer).map(() => KeyPair.generate(systemRandom))
    for (const key of keys) await store.receive(new ForgedStream(key).chunk([{ lamport: 1 }]), { from: 'a' })
    const next = new ForgedStream().chunk([{ lamport: 1 }])
    assert.equal((await store.receive(next, { from: 'a' })).state, 'refused')
    await store.forgetStream(keyOf(keys[3] as KeyPair))
    assert.equal((await store.receive(next, { from: 'a' })).state, 'stored')
  })

  small('a subscription continues while a stream is forgotten and received again', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { queries: true })
    const chunk = (): Buffer => new ForgedStream(key).chunk([{ lamport: 1, payload: '"a"' }])
    await store.receive(chunk())
    const live = new Live(store, 'subscribe', { query: 'FROM allEvents' })
    assert.deepEqual(await live.contents(2), ['a', 'offsets'])
    await store.forgetStream(keyOf(key))
    await store.receive(new ForgedStream().chunk([{ lamport: 2, payload: '"b"' }]))
    assert.deepEqual(await live.contents(1), ['b'])
    await store.receive(chunk())
    assert.deepEqual(await live.contents(1), ['a'])
    live.reading.cancel()
  })
})
