import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventOrigin, EventStore, ImportRequest } from '../../../src/store/port/index.ts'
import { packed } from '../../support/events.ts'
import { memoryStore } from './sources.ts'
import {
  idOf,
  isMalformed,
  linesOf,
  numbered,
  numbersOf,
  range,
  refused,
  requestOf,
  rules,
  unchanged,
} from './support.ts'

const [own, dumping, other] = [1, 2, 3].map(() => KeyPair.generate(systemRandom)) as [KeyPair, KeyPair, KeyPair]

/** An event of a dump: its number is its payload, and gives its time. */
interface Dumped {
  readonly n: number
  readonly of: KeyPair
  readonly stream?: number
  readonly offset: number
}

export function dumpOf(events: readonly Dumped[], dumpedBy = dumping): ImportRequest {
  const full = events.map(({ n }) => ({ appId: 'com.example.a', tags: [`id:${n}`], payload: `{"n":${n}}` }))
  const origins = events.map(
    ({ of, stream = 0, offset }): EventOrigin => ({ stream: { node: of.publicKey, number: stream }, offset }),
  )
  const times = Float64Array.from(events, ({ n }) => 1_600_000_000_000_000 + n)
  return { ...packed(full), times, origins, dumpedBy: dumpedBy.publicKey }
}

/** Events of two nodes in turn, from every third offset. */
export const someEvents = (count: number, from = 0): Dumped[] =>
  range(from, from + count).map((n) => ({ n, of: n % 2 === 0 ? dumping : other, stream: n % 3, offset: 3 * n }))

const imported = { kind: 'imported', key: own } as const

async function placesOf(store: EventStore): Promise<[string, number, number][]> {
  return (await linesOf(store)).map(({ stream, offset, lamport }) => [stream, offset, lamport])
}

export const importing = rules(({ small }) => {
  small(
    'an event of a dump is imported once, with its time, into a stream that is local if it was',
    async (t, open) => {
      const store = await open(t, imported)
      assert.deepEqual(await store.import(dumpOf(someEvents(4))), { added: 4 })
      const [local, foreign] = [idOf(own), idOf(dumping, 4)]
      assert.deepEqual(await placesOf(store), [
        [local, 0, 0],
        [foreign, 0, 1],
        [local, 1, 2],
        [foreign, 1, 3],
      ])
      assert.deepEqual(
        (await linesOf(store)).map(({ timestamp, payload }) => [timestamp, payload]),
        range(0, 4).map((n) => [1_600_000_000_000_000 + n, { n }]),
      )
      await unchanged(store, async () => assert.deepEqual(await store.import(dumpOf(someEvents(4))), { added: 0 }))
    },
  )

  small('a dump that overlaps another one adds the rest, and repeated events once', async (t, open) => {
    const store = await open(t, imported)
    await store.import(dumpOf(someEvents(300)))
    const overlapping = [...someEvents(300, 200), ...someEvents(10, 495)]
    assert.deepEqual(await store.import(dumpOf(overlapping)), { added: 205 })
    assert.deepEqual(await store.import(dumpOf(overlapping)), { added: 0 })
    assert.deepEqual(await numbersOf(store), range(0, 505))
  })

  small(
    'events with the same offset in other streams, or with the same content, are different ones',
    async (t, open) => {
      const store = await open(t, imported)
      const events = [dumping, other].flatMap((of) => [0, 1].map((stream) => ({ n: 7, of, stream, offset: 5 })))
      assert.deepEqual(await store.import(dumpOf([...events, { n: 7, of: other, offset: 6 }])), { added: 5 })
      assert.deepEqual(await numbersOf(store), [7, 7, 7, 7, 7])
    },
  )

  small('a dump of this node becomes local as a whole, and own events can be added', async (t, open) => {
    const store = await open(t, imported)
    await store.import(dumpOf(someEvents(2), own))
    await store.append(requestOf(numbered(1, 2)))
    assert.deepEqual(await placesOf(store), [
      [idOf(own, 4), 0, 0],
      [idOf(own, 4), 1, 1],
      [idOf(own), 0, 2],
    ])
    assert.ok((await store.streams()).every((stream) => stream.own))
  })

  small('an invalid import changes nothing', async (t, open) => {
    const store = await open(t, imported)
    await store.import(dumpOf(someEvents(2)))
    const good = dumpOf(someEvents(3))
    const withTime = (time: number) => ({ ...good, times: Float64Array.of(1, time, 2) })
    const withOffset = (offset: number) => dumpOf([...someEvents(1, 9), { n: 1, of: other, offset }])
    await unchanged(store, async () => {
      for (const time of [-1, 1.5, Number.NaN, 2 ** 53]) await assert.rejects(store.import(withTime(time)), refused)
      for (const offset of [-1, 1.5, 2 ** 53]) await assert.rejects(store.import(withOffset(offset)), refused)
      await assert.rejects(store.import(dumpOf(someEvents(limits.eventsPerPublish + 1))), refused)
    })
    assert.deepEqual(await store.import(dumpOf([])), { added: 0 })
  })

  small(
    'topics stay apart: nothing is imported into a live one, and an imported one gives and takes nothing',
    async (t, open) => {
      const [live, store, source] = [await open(t, { key: own }), await open(t, imported), memoryStore()]
      await live.append(requestOf(numbered(1)))
      await unchanged(live, () => assert.rejects(live.import(dumpOf(someEvents(1))), refused))
      await store.import(dumpOf(someEvents(3)))
      for (const { number } of await store.streams()) {
        assert.equal(await store.head(number), undefined)
        assert.equal(await store.chunk(number, 0), undefined)
      }
      assert.deepEqual(await store.heads(), [])
      await source.append(requestOf(numbered(3)))
      const chunk = (await source.chunk(0, 0)) as Uint8Array
      await unchanged(store, () => assert.rejects(store.receive(chunk), isMalformed))
    },
  )
})
