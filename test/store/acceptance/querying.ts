import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { contents, messages, resultLines, startJob } from './jobs.ts'
import { memoryStore } from './sources.ts'
import {
  idOf,
  linesOf,
  nameOf,
  numbered,
  type OpenStore,
  orders,
  range,
  replicate,
  requestOf,
  rules,
  textOf,
} from './support.ts'

interface Example {
  readonly store: EventStore
  readonly own: string
  readonly offsets: Readonly<Record<string, number>>
}

/** An own stream and one of another node, long enough to be sealed in part. */
async function example(t: TestContext, open: OpenStore, size = 1100): Promise<Example> {
  const key = KeyPair.generate(systemRandom)
  const store = await open(t, { key, queries: true })
  await store.append(requestOf(numbered(size)))
  const other = memoryStore()
  await other.append(requestOf(numbered(size, 10_000)))
  await replicate(other, store)
  await store.append(requestOf(numbered(5, size)))
  const streams = await store.streams()
  const offsets = Object.fromEntries(streams.map((stream) => [nameOf(stream), stream.count - 1]))
  return { store, own: idOf(key), offsets }
}

/** Queries. */
export const querying = rules(({ small, large }) => {
  large('a query of all events returns the same lines as a read, and the offsets', async (t, open) => {
    const { store, offsets } = await example(t, open)
    for (const order of orders) {
      const lines = await resultLines(store, { query: 'FROM allEvents', order })
      const { type, offsets: last } = messages(lines.slice(-1))[0] ?? {}
      assert.equal(type, 'offsets')
      assert.deepEqual(last, offsets)
      const expected = await textOf(store, { anyOf: [{ tags: [] }], order })
      assert.deepEqual(lines.slice(0, -1), expected.split('\n').slice(0, -1))
    }
  })

  large('a computed value is sent in the line of its event, whatever its tags', async (t, open) => {
    const { store } = await example(t, open)
    const tags = ['größe', '机器', '🏭', 'e\u0301', '"', '\\', '\n', '\u007f', 'x'.repeat(1024)]
    await store.append(
      requestOf(tags.map((tag) => ({ appId: 'com.example.a', tags: ['t', tag], payload: `{"n":"${tag.length}"}` }))),
    )
    const start = (line: string): string => line.slice(0, line.indexOf('"payload":'))
    const all = (await resultLines(store, { query: 'FROM allEvents' })).slice(0, -1)
    const payload = (line: string): { n: unknown } => (JSON.parse(line) as { payload: { n: unknown } }).payload
    const expected = (made: (n: unknown) => unknown): string[] =>
      all.map((line) => `${start(line)}"payload":${JSON.stringify(made(payload(line).n))}}`)
    const selected = async (value: string): Promise<string[]> =>
      (await resultLines(store, { query: `FROM allEvents SELECT ${value}` })).slice(0, -1)
    const objects = expected((n) => ({ x: [n, 'größe'] }))
    assert.deepEqual(await selected("{ x: [_.n, 'größe'] }"), objects)
    const arrays = expected((n) => [n, null])
    assert.deepEqual(await selected('[_.n, _.missing ?? NULL]'), arrays)
  })

  large('a query by tags, app or origin returns the matching events', async (t, open) => {
    const { store } = await example(t, open)
    const all = await linesOf(store)
    const isOwn = ({ payload }: { payload: unknown }) => (payload as { n: number }).n < 10_000
    const cases: readonly (readonly [string, (line: (typeof all)[number]) => boolean])[] = [
      ["'of7:3'", ({ tags }) => tags.includes('of7:3')],
      ["'of7:3' & 'id:1004'", ({ tags }) => tags.includes('of7:3') && tags.includes('id:1004')],
      ["'of7:3' | 'id:10002'", ({ tags }) => tags.includes('of7:3') || tags.includes('id:10002')],
      ['appId(com.example.b)', ({ appId }) => appId === 'com.example.b'],
      ["isLocal & 'of7:1'", (line) => isOwn(line) && line.tags.includes('of7:1')],
      ["'never'", () => false],
    ]
    for (const [query, holds] of cases) {
      const expected = all.filter(holds).map(({ text }) => text)
      assert.deepEqual((await resultLines(store, { query: `FROM ${query}` })).slice(0, -1), expected, query)
    }
  })

  large('a query with a filter and a projection returns computed values', async (t, open) => {
    const { store } = await example(t, open)
    const lines = messages(
      await resultLines(store, { query: "FROM 'all' FILTER _.n >= 1098 & _.n < 10002 SELECT _.n + 1" }),
    )
    assert.deepEqual(lines.map(contents), [10_001, 10_002, ...range(1099, 1106), 'offsets'])
  })

  large('an aggregation returns one value for all events', async (t, open) => {
    const { store } = await example(t, open)
    const query = "FEATURES(aggregate) FROM 'all' AGGREGATE { count: SUM(1), last: LAST(_.n) }"
    assert.deepEqual(messages(await resultLines(store, { query })).map(contents), [
      { count: 2205, last: 1104 },
      'offsets',
    ])
  })

  large('a query with bounds returns the events above the lower and up to the upper bound', async (t, open) => {
    const { store, own } = await example(t, open)
    const bounds = { lowerBound: { [own]: 3 }, upperBound: { [own]: 1095 } }
    for (const filter of ['', ' FILTER _.n >= 0']) {
      const query = `FROM 'all'${filter}`
      const lines = messages(await resultLines(store, { query, ...bounds }))
      assert.deepEqual(
        lines.slice(0, -1).map(({ payload }) => (payload as { n: number }).n),
        range(4, 1096),
      )
      assert.deepEqual(lines.at(-1)?.offsets, bounds.upperBound)
    }
  })

  large('a query with a range of keys returns the events in that range', async (t, open) => {
    const { store } = await example(t, open)
    const all = await linesOf(store)
    const expected = all.filter(({ lamport }) => lamport >= 500 && lamport < 1050).map(({ text }) => text)
    for (const order of ['asc', 'desc'] as const) {
      const lines = await resultLines(store, { query: 'FROM KEY >= 500 & KEY < 1050', order })
      assert.deepEqual(lines.slice(0, -1), order === 'asc' ? expected : expected.toReversed())
    }
    assert.equal(expected.length, 1100)
  })

  large('a nested query reads the same snapshot', async (t, open) => {
    const { store } = await example(t, open)
    const query = "FEATURES(subQuery) FROM 'id:3' | 'id:4' SELECT FROM 'of7:6' & 'id:6' SELECT _.n"
    assert.deepEqual(messages(await resultLines(store, { query })).map(contents), [[6], [6], 'offsets'])
  })

  small('a query of an empty store returns empty offsets', async (t, open) => {
    const store = await open(t, { queries: true })
    assert.deepEqual(messages(await resultLines(store, { query: 'FROM allEvents' })), [
      { type: 'offsets', offsets: {} },
    ])
  })

  small('an upper bound beyond the present ends a query with an error', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key, queries: true })
    await store.append(requestOf(numbered(2)))
    const lines = await resultLines(store, { query: 'FROM allEvents', upperBound: { [idOf(key)]: 2 } })
    assert.match(lines.join('\n'), /out of range/)
    assert.equal(lines.length, 2)
  })

  small('a malformed query is rejected when it is started', async (t, open) => {
    const store = await open(t, { queries: true })
    const reading = startJob(store, 'query', { query: 'FROM FROM' })
    await assert.rejects(reading.started, { code: 'ERR_BAD_REQUEST' })
    await reading.ended
  })

  large('redacted and pruned events are in no result', async (t, open) => {
    const { store, own } = await example(t, open, 2100)
    await store.redact(0, [1500])
    await store.prune(0, 1024)
    for (const query of ["FROM 'all' & isLocal", "FROM 'all' & isLocal FILTER _.n >= 0"]) {
      const lines = messages(await resultLines(store, { query }))
      assert.deepEqual(
        lines.slice(0, -1).map(({ payload }) => (payload as { n: number }).n),
        range(1024, 2105).filter((n) => n !== 1500),
      )
      assert.equal(lines.at(-1)?.offsets?.[own], 2104)
    }
  })

  large('a query without a consumer waits, and continues with its original snapshot', async (t, open) => {
    const store = await open(t, { queries: true })
    const payload = JSON.stringify('x'.repeat(1500))
    const events = (count: number) => requestOf(Array.from({ length: count }, () => ({ payload })))
    await store.append(events(2000))
    const readings = ['', " FILTER _ != ''"].map((filter) =>
      startJob(store, 'query', { query: `FROM allEvents${filter}` }),
    )
    await Promise.all(readings.map(({ started }) => started))
    await store.append(events(10))
    for (const reading of readings) {
      let lines = 0
      for await (const piece of reading) lines += piece.toString('latin1').split('\n').length - 1
      assert.equal(lines, 2001)
    }
  })
})
