import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { naiveRecord } from '../../protocol/naive.ts'
import { fill, signedPrune, signedRanges, signedRedaction, without } from './removals.ts'
import { memoryStore } from './sources.ts'
import {
  chunksOf,
  endOf,
  hex,
  idOf,
  isMalformed,
  numbered,
  numbersOf,
  range,
  refused,
  replicate,
  requestOf,
  rules,
  streamOf,
  textOf,
  unchanged,
} from './support.ts'

/** Records that redact many events, records that come together, and records without effect. */
export const applyingRedactions = rules(({ small, large }) => {
  /** In all chunks, at their ends, adjacent and not. */
  const places = [0, 1, 2, 127, 128, 500, 1023, 1024, 1025, ...range(1500, 1800), 2047, 3071, 3072, 3073, 3099]

  large('one record redacts many events, here and on other nodes', async (t, open) => {
    const [store, other] = [await open(t), memoryStore()]
    await fill(store)
    await replicate(store, other)
    const record = await store.redact(0, places.toReversed())
    assert.deepEqual(await numbersOf(store), without(places))
    assert.deepEqual(await other.applyRedaction(record), { state: 'applied' })
    assert.equal(await textOf(other), await textOf(store))
    assert.deepEqual((await chunksOf(other)).slice(0, 3).map(hex), (await chunksOf(store)).slice(0, 3).map(hex))
  })

  large('the record of another node redacts stored events now, and later ones when they arrive', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    const chunks = await chunksOf(source)
    for (const chunk of chunks.slice(0, 2)) await store.receive(chunk)
    const [early, late] = [await source.redact(0, places), await source.redact(0, [2500])]
    assert.deepEqual(await store.applyRedaction(late), { state: 'waiting' })
    assert.deepEqual(await store.applyRedaction(early), { state: 'applied' })
    assert.deepEqual(await numbersOf(store), without(places, 2048))
    for (const chunk of chunks) await store.receive(chunk)
    assert.deepEqual(await numbersOf(store), without([...places, 2500]))
    for (const record of [early, late]) assert.deepEqual(await store.applyRedaction(record), { state: 'known' })
  })

  small('redacting nothing, too much at once, or what does not exist is refused', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(5000)))
    const wrong = [[], [5000], [3, 5000], [-1], [1.5], range(0, 4097), range(0, 257).map((i) => 2 * i)]
    await unchanged(store, async () => {
      for (const offsets of wrong) await assert.rejects(store.redact(0, offsets), refused)
    })
    await store.redact(0, [7, 7, 7])
    assert.deepEqual((await numbersOf(store)).length, 4999)
  })

  large('records that come together are applied together, or not at all', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source, others] = [await open(t), memoryStore(key), memoryStore()]
    await fill(source)
    await others.append(requestOf(numbered(20)))
    await replicate(source, store)
    await replicate(others, store)
    const records = [
      await source.redact(0, [5, 6, 2050]),
      await others.redact(0, [3]),
      await source.redact(0, [6, 7]),
      await source.redact(0, [5, 7]),
      await source.redact(0, [3099]),
      signedRedaction(key, 4000),
    ]
    await unchanged(store, async () => {
      const foreign = signedRedaction(key, 1, 'another-topic')
      await assert.rejects(store.applyRedactions([...records, foreign]), refused)
      await assert.rejects(store.applyRedactions([...records, signedPrune(key, 1)]), isMalformed)
      const many = new Array<Uint8Array>(limits.redactionsPerCall + 1).fill(records[0] as Uint8Array)
      await assert.rejects(store.applyRedactions(many), refused)
      assert.deepEqual(await store.applyRedactions([]), [])
    })
    const states = async () => (await store.applyRedactions(records)).map(({ state }) => state)
    assert.deepEqual(await states(), ['applied', 'applied', 'applied', 'known', 'applied', 'waiting'])
    assert.deepEqual(await states(), new Array(6).fill('known'))
    const left = [...without([5, 6, 7, 2050, 3099]), ...without([3], 20)]
    assert.deepEqual((await numbersOf(store)).sort(ascending), left.sort(ascending))
  })

  large('a record of pruned or redacted events changes nothing', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    await replicate(source, store)
    const records = [await source.redact(0, range(10, 20)), await source.redact(0, [3000])]
    const parts = [
      await source.redact(0, [12, 14]),
      await source.redact(0, [1000, 1001]),
      await source.redact(0, [15, 3000]),
    ]
    const states = async () => (await store.applyRedactions(parts)).map(({ state }) => state)
    await store.applyRedactions(records)
    const prune = await source.prune(0, 1024)
    assert.deepEqual(await store.applyPrune(prune), { state: 'applied' })
    await unchanged(store, async () => assert.deepEqual(await states(), ['known', 'known', 'known']))
  })

  small('records of events that were not received are bounded, and take one stream slot', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await source.append(requestOf(numbered(1024)))
    const apply = async (first: number, count: number) =>
      (await store.applyRedaction(signedRanges(key, [{ first, count }]))).state
    const half = limits.expectedRedactedEvents / 2
    assert.deepEqual([await apply(0, half), await apply(half, half)], ['waiting', 'waiting'])
    assert.deepEqual([await apply(2 * half, 1), await apply(2 * half - 1, 2)], ['full', 'full'])
    assert.equal(await apply(10, half), 'known')
    assert.equal((await store.streams()).length, 1)
    // Events that arrive make room.
    await replicate(source, store)
    assert.equal(await textOf(store), '')
    assert.deepEqual([await apply(2 * half, 1024), await apply(0, 1)], ['waiting', 'known'])
    assert.equal(await apply(3 * half, 1), 'full')
  })

  small('the number of records for events that were not received is bounded', async (t, open) => {
    const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
    const records = range(0, limits.expectedRedactions + 1).map((offset) => signedRedaction(key, 10_000 + 2 * offset))
    const states: string[] = []
    for (let i = 0; i < records.length; i += limits.redactionsPerCall)
      for (const { state } of await store.applyRedactions(records.slice(i, i + limits.redactionsPerCall)))
        states.push(state)
    assert.deepEqual(new Set(states.slice(0, -1)), new Set(['waiting']))
    assert.equal(states.at(-1), 'full')
  })

  large('waiting chunks of other streams, and later ones of the stream, outlive a redaction', async (t, open) => {
    const keys = [KeyPair.generate(systemRandom), KeyPair.generate(systemRandom)] as const
    const [store, source, other] = [await open(t), memoryStore(keys[0]), memoryStore(keys[1])]
    for (const from of [source, other]) {
      await fill(from)
      const chunks = await chunksOf(from)
      await store.receive(chunks[0] as Uint8Array)
      for (const [i, chunk] of chunks.entries())
        if (i >= 2) {
          const before = endOf(chunks[i - 1] as Uint8Array)
          assert.equal((await store.receive(chunk, { before })).state, 'waiting')
        }
    }
    await store.append(requestOf(numbered(3)))
    await store.redact(0, [1])
    const before = await chunksOf(source)
    assert.deepEqual(await store.applyRedaction(await source.redact(0, [2050])), { state: 'waiting' })
    for (const chunk of (await chunksOf(other)).slice(0, 2)) await store.receive(chunk)
    assert.equal((await streamOf(store, idOf(keys[1]))).count, 3100)
    for (const chunk of before.slice(0, 2)) await store.receive(chunk)
    assert.equal((await streamOf(store, idOf(keys[0]))).count, 2048)
    await store.receive(before[2] as Uint8Array)
    assert.equal((await streamOf(store, idOf(keys[0]))).count, 3100)
    assert.deepEqual((await numbersOf(store)).length, 2 + 3100 + 3099)
  })

  small('a redaction record of version 1 is applied', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [store, source] = [await open(t), memoryStore(key)]
    await source.append(requestOf(numbered(10)))
    await replicate(source, store)
    const bytes = naiveRecord('shoal/redaction/1', 'a-topic', key.publicKey, 0, 3, 1)
    const record = Buffer.concat([bytes, key.sign(bytes)])
    assert.deepEqual(await store.applyRedaction(record), { state: 'applied' })
    assert.deepEqual(await numbersOf(store), without([3], 10))
  })
})

function ascending(a: number, b: number): number {
  return a - b
}
