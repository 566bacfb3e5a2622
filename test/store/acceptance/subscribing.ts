import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { Live, messages } from './jobs.ts'
import { ForgedStream, memoryStore } from './sources.ts'
import { chunksOf, endOf, idOf, range, replicate, requestOf, rules } from './support.ts'

const payloads = (...list: unknown[]) => requestOf(list.map((one) => ({ tags: ['x'], payload: JSON.stringify(one) })))

/** Another node, whose events sort before those of a store that has more events. */
async function otherNode(...list: unknown[]): Promise<{ other: EventStore; id: string; chunks: Uint8Array[] }> {
  const key = KeyPair.generate(systemRandom)
  const other = memoryStore(key)
  await other.append(payloads(...list))
  return { other, id: idOf(key), chunks: await chunksOf(other) }
}

/** Subscriptions to stored and new events. */
export const subscribing = rules(({ small, large }) => {
  for (const job of ['subscribe', 'subscribe_monotonic'] as const) {
    small(`${job} sends the present events, the offsets, and then new events`, async (t, open) => {
      const key = KeyPair.generate(systemRandom)
      const store = await open(t, { key, queries: true })
      await store.append(payloads(1, 2))
      const live = new Live(store, job, { query: "FROM 'x'" })
      await live.reading.started
      const [, , offsets] = messages(await live.take(3))
      assert.deepEqual(offsets?.offsets, { [idOf(key)]: 1 })
      for (let n = 3; n < 9; n++) {
        await store.append(payloads(n))
        assert.deepEqual(await live.contents(1), [n])
      }
      await store.append(requestOf([{ tags: ['y'], payload: '"another tag"' }]))
      await store.append(payloads(9, 10))
      assert.deepEqual(await live.contents(2), [9, 10])
      live.reading.cancel()
      await live.reading.ended
    })

    small(`${job} with a filter sends the matching results`, async (t, open) => {
      const store = await open(t, { queries: true })
      await store.append(payloads(1, 2, 3))
      const live = new Live(store, job, { query: "FROM 'x' FILTER _ % 2 = 1 SELECT _ * 10" })
      assert.deepEqual(await live.contents(3), [10, 30, 'offsets'])
      await store.append(payloads(4))
      await store.append(payloads(5))
      assert.deepEqual(await live.contents(1), [50])
      live.reading.cancel()
    })

    small(`${job} to one app misses no event while other apps publish`, async (t, open) => {
      const store = await open(t, { queries: true })
      const event = (appId: string, n: number) => requestOf([{ appId, payload: String(n) }])
      const live = new Live(store, job, { query: 'FROM appId(com.example.b)' })
      assert.deepEqual(await live.contents(1), ['offsets'])
      for (let n = 0; n < 20; n++) await store.append(event(n % 3 === 0 ? 'com.example.b' : 'com.example.a', n))
      assert.deepEqual(
        await live.contents(7),
        range(0, 20).filter((n) => n % 3 === 0),
      )
      live.reading.cancel()
    })

    large(`${job} sends each event once while events are published`, async (t, open) => {
      const store = await open(t, { queries: true })
      await store.append(payloads(...range(0, 1500)))
      const live = new Live(store, job, { query: "FROM 'x'" })
      for (let n = 1500; n < 4000; n += 125) await store.append(payloads(...range(n, n + 125)))
      const found = (await live.contentsUpTo(3999)).filter((one) => one !== 'offsets')
      assert.deepEqual(found, range(0, 4000))
      live.reading.cancel()
    })

    small(`${job} fails when the store is closed`, async (t, open) => {
      const store = await open(t, { queries: true })
      const live = new Live(store, job, { query: "FROM 'x'" })
      await live.contents(1)
      await store.close()
      await assert.rejects(live.rest(), /closed/)
      await live.reading.ended
    })

    small(`${job} that is failed by its consumer ends with that error`, async (t, open) => {
      const store = await open(t, { queries: true })
      const live = new Live(store, job, { query: "FROM 'x'" })
      await live.contents(1)
      live.reading.fail(new Error('no more'))
      await assert.rejects(live.rest(), /no more/)
    })

    small(`${job} with a malformed query is rejected when it is started`, async (t, open) => {
      const store = await open(t, { queries: true })
      await assert.rejects(new Live(store, job, { query: "FROM 'x' FILTER" }).reading.started, {
        code: 'ERR_BAD_REQUEST',
      })
    })
  }

  small('subscribe starts after its lower bound, also in streams that are created later', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key, queries: true })
    await store.append(payloads(0, 1, 2))
    const { chunks, id } = await otherNode('a', 'b', 'c', 'd')
    const live = new Live(store, 'subscribe', { query: "FROM 'x'", lowerBound: { [idOf(key)]: 1, [id]: 2 } })
    assert.deepEqual(await live.contents(2), [2, 'offsets'])
    for (const chunk of chunks) await store.receive(chunk)
    assert.deepEqual(await live.contents(1), ['d'])
    live.reading.cancel()
  })

  small('subscribe sends events of other nodes when they arrive, each chunk in total order', async (t, open) => {
    const store = await open(t, { queries: true })
    await store.append(payloads(0, 1, 2, 3))
    const live = new Live(store, 'subscribe', { query: "FROM 'x'" })
    assert.deepEqual(await live.contentsUpTo('offsets'), [0, 1, 2, 3, 'offsets'])
    for (const name of ['a', 'b']) {
      const { chunks } = await otherNode(`${name}0`, `${name}1`)
      for (const chunk of chunks) await store.receive(chunk)
      assert.deepEqual(await live.contents(2), [`${name}0`, `${name}1`])
    }
    live.reading.cancel()
  })

  small('subscribe sends events of a waiting chunk once the missing chunk has arrived', async (t, open) => {
    const store = await open(t, { queries: true })
    const stream = new ForgedStream()
    const [known, first, second] = [0, 1, 2].map((n) => stream.chunk([{ lamport: n, payload: String(n) }]))
    await store.receive(known as Buffer)
    const live = new Live(store, 'subscribe', { query: 'FROM allEvents' })
    assert.deepEqual(await live.contents(2), [0, 'offsets'])
    assert.equal((await store.receive(second as Buffer, { before: endOf(first) })).state, 'waiting')
    await store.receive(first as Buffer)
    assert.deepEqual(await live.contents(2), [1, 2])
    live.reading.cancel()
  })

  small('subscribe_monotonic marks the results with which it has caught up', async (t, open) => {
    const store = await open(t, { queries: true })
    await store.append(payloads(0, 1, 2))
    const live = new Live(store, 'subscribe_monotonic', { query: "FROM 'x' FILTER _ != 1" })
    const past = messages(await live.take(3))
    assert.deepEqual(
      past.map(({ type, caughtUp }) => caughtUp ?? type),
      [false, true, 'offsets'],
    )
    await store.append(payloads(3, 4))
    assert.deepEqual(
      messages(await live.take(2)).map(({ caughtUp }) => caughtUp),
      [false, true],
    )
    live.reading.cancel()
  })

  small(
    'subscribe_monotonic ends with a time travel when an event arrives that sorts before a sent one',
    async (t, open) => {
      const store = await open(t, { queries: true })
      await store.append(payloads(0, 1, 2, 3))
      const live = new Live(store, 'subscribe_monotonic', { query: "FROM 'x'" })
      assert.deepEqual(await live.contentsUpTo('offsets'), [0, 1, 2, 3, 'offsets'])
      const { chunks, id } = await otherNode('a', 'b')
      for (const chunk of chunks) await store.receive(chunk)
      assert.deepEqual(messages(await live.rest()), [
        { type: 'timeTravel', newStart: { lamport: 0, stream: id, offset: 0 } },
      ])
      await live.reading.ended
    },
  )

  small(
    'subscribe_monotonic with a lower bound ends with a time travel when events before the bound are missing in it',
    async (t, open) => {
      const key = KeyPair.generate(systemRandom)
      const store = await open(t, { key, queries: true })
      await store.append(payloads(0, 1, 2, 3))
      const { other, id } = await otherNode('a', 'b')
      await replicate(other, store)
      const live = new Live(store, 'subscribe_monotonic', { query: "FROM 'x'", lowerBound: { [idOf(key)]: 2 } })
      assert.deepEqual(messages(await live.rest()), [
        { type: 'timeTravel', newStart: { lamport: 0, stream: id, offset: 0 } },
      ])
    },
  )

  small('a commit listener is called for events of this and of other nodes, until it is removed', async (t, open) => {
    const store = await open(t)
    const counts: number[] = []
    let counting: Promise<void> = Promise.resolve()
    const countEvents = async (): Promise<void> => {
      const streams = await store.streams()
      counts.push(streams.reduce((sum, { count }) => sum + count, 0))
    }
    const stop = store.onCommit(() => {
      counting = counting.then(countEvents)
    })
    await store.append(payloads(0, 1))
    await counting
    assert.deepEqual(counts, [2])
    const { other } = await otherNode('a')
    await replicate(other, store)
    await counting
    assert.deepEqual(counts, [2, 3])
    stop()
    await store.append(payloads(2))
    await counting
    assert.deepEqual(counts, [2, 3])
  })
})
