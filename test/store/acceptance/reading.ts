import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { Branch, EventStore } from '../../../src/store/port/index.ts'
import { memoryStore } from './sources.ts'
import {
  assertSame,
  everything,
  idOf,
  type Line,
  linesOf,
  nameOf,
  numbered,
  numbersOf,
  type OpenStore,
  orders,
  range,
  replicate,
  requestOf,
  rules,
  StartedRead,
} from './support.ts'

interface Example {
  readonly store: EventStore
  /** All events, in total order. */
  readonly all: readonly Line[]
  readonly ownIds: readonly string[]
}

/** Own streams and streams of two other nodes, long enough to be sealed in part, with many equal lamport timestamps. */
async function example(t: TestContext, open: OpenStore): Promise<Example> {
  const key = KeyPair.generate(systemRandom)
  const store = await open(t, { key })
  const others = [memoryStore(), memoryStore()]
  await store.append(requestOf([...numbered(1100, 0, 0), ...numbered(50, 0, 3)]))
  for (const [i, other] of others.entries()) {
    for (const size of [1, 700, 20, 600, 30]) await other.append(requestOf(numbered(size, 10_000 * (i + 1), i)))
    await other.append(requestOf(numbered(40, 10_000 * (i + 1), 5)))
    await replicate(other, store)
  }
  await store.append(requestOf([...numbered(5, 1100, 0), ...numbered(2, 50, 3)]))
  const all = await linesOf(store)
  assert.equal(all.length, 1157 + 2 * 1391)
  return { store, all, ownIds: [idOf(key, 0), idOf(key, 3)] }
}

/** Whether an event sorts before another one in the total order. */
function isBefore(a: Line, b: Line): boolean {
  if (a.lamport !== b.lamport) return a.lamport < b.lamport
  const [[nodeA = '', numberA], [nodeB = '', numberB]] = [a.stream.split('-'), b.stream.split('-')]
  // Node IDs sort like the bytes of their keys.
  return nodeA === nodeB ? Number(numberA) < Number(numberB) : nodeA < nodeB
}

const place = ({ stream, offset }: Line): string => `${stream}/${offset}`

/** Reading, from segments and from the tail. */
export const reading = rules(({ small, large }) => {
  large(
    'events of all streams are read in total order, including those with equal lamport timestamps',
    async (t, open) => {
      const { all } = await example(t, open)
      assert.ok(all.some((line, i) => line.lamport === all[i + 1]?.lamport))
      for (const [i, line] of all.entries()) if (i > 0) assert.ok(isBefore(all[i - 1] as Line, line), place(line))
      assert.equal(new Set(all.map(place)).size, all.length)
    },
  )

  large('descending order is the exact reverse', async (t, open) => {
    const { store, all } = await example(t, open)
    assertSame(await linesOf(store, { ...everything, order: 'desc' }), all.toReversed())
  })

  large('in stream order, events are read stream by stream by offset', async (t, open) => {
    const { store, all } = await example(t, open)
    const lines = await linesOf(store, { ...everything, order: 'stream-asc' })
    const expected = (await store.streams()).flatMap((stream) => all.filter((line) => line.stream === nameOf(stream)))
    assertSame(lines, expected)
  })

  large('a read returns the events above the lower and up to the upper bound', async (t, open) => {
    const { store, all } = await example(t, open)
    const bounds = (await store.streams()).map((stream) => {
      const last = stream.count - 1
      return { stream, lower: Math.floor(last / 4) - 1, upper: Math.floor((3 * last) / 4) }
    })
    const lower = new Map(bounds.map(({ stream, lower }) => [stream.number, lower]))
    const upper = new Map(bounds.map(({ stream, upper }) => [stream.number, upper]))
    const within = (above: boolean, below: boolean) =>
      all.filter((line) => {
        const bound = bounds.find(({ stream }) => nameOf(stream) === line.stream)
        assert.ok(bound)
        return (!above || line.offset > bound.lower) && (!below || line.offset <= bound.upper)
      })
    for (const order of ['asc', 'desc'] as const) {
      const inOrder = (lines: Line[]) => (order === 'asc' ? lines : lines.toReversed())
      assertSame(await linesOf(store, { ...everything, order, lower }), inOrder(within(true, false)))
      assertSame(await linesOf(store, { ...everything, order, upper }), inOrder(within(false, true)))
      assertSame(await linesOf(store, { ...everything, order, lower, upper }), inOrder(within(true, true)))
    }
  })

  large(
    'streams that are missing in the upper bound are excluded, those missing in the lower bound are included',
    async (t, open) => {
      const { store, all } = await example(t, open)
      const [first, second] = await store.streams()
      assert.ok(first && second)
      const offsets = (name: string, lines: readonly Line[]) =>
        lines.filter(({ stream }) => stream === name).map(({ offset }) => offset)
      const upper = await linesOf(store, { ...everything, upper: new Map([[second.number, 10]]) })
      assert.deepEqual(offsets(nameOf(second), upper), range(0, 11))
      assert.equal(upper.length, 11)
      const lower = await linesOf(store, { ...everything, lower: new Map([[first.number, 1000]]) })
      assert.deepEqual(offsets(nameOf(first), lower), range(1001, 1105))
      assert.equal(lower.length, all.length - 1001)
    },
  )

  large('bounds beyond the end of a stream, and bounds that exclude each other, are not errors', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(1030)))
    const bounds = (lower: number, upper: number) =>
      numbersOf(store, { ...everything, lower: new Map([[0, lower]]), upper: new Map([[0, upper]]) })
    assert.deepEqual(await bounds(1028, 5000), [1029])
    assert.deepEqual(await bounds(1029, 5000), [])
    assert.deepEqual(await bounds(5000, 6000), [])
    assert.deepEqual(await bounds(7, 7), [])
    assert.deepEqual(await bounds(6, 7), [7])
    assert.deepEqual(await bounds(-1, 0), [0])
    assert.deepEqual(await numbersOf(store, { ...everything, upper: new Map([[9, 10]]) }), [])
    assert.equal((await numbersOf(store, { ...everything, lower: new Map([[9, 10]]) })).length, 1030)
  })

  large('an event is selected if one of the branches matches', async (t, open) => {
    const { store, all, ownIds } = await example(t, open)
    const has =
      (...tags: string[]) =>
      (line: Line) =>
        tags.every((tag) => line.tags.includes(tag))
    const isOwn = ({ stream }: Line) => ownIds.includes(stream)
    const cases: [Branch[], (line: Line) => boolean][] = [
      [[{ tags: ['of7:3'] }], has('of7:3')],
      [[{ tags: ['of7:3', 'id:1004'] }], has('of7:3', 'id:1004')],
      [[{ tags: ['of7:3', 'id:10004'] }], has('of7:3', 'id:10004')],
      [[{ tags: ['of7:3', 'of7:4'] }], () => false],
      [
        [{ tags: ['of7:3'] }, { tags: ['id:1'] }, { tags: ['id:20600'] }],
        (line) => [has('of7:3'), has('id:1'), has('id:20600')].some((holds) => holds(line)),
      ],
      [[{ tags: ['unknown'] }], () => false],
      [[{ tags: ['of7'] }], () => false],
      [[{ tags: [], appId: 'com.example.b' }], ({ appId }) => appId === 'com.example.b'],
      [[{ tags: ['of7:2'], appId: 'com.example.b' }], (line) => has('of7:2')(line) && line.appId === 'com.example.b'],
      [[{ tags: [], appId: 'all' }], () => false],
      [[{ tags: ['com.example.b'] }], () => false],
      [[{ tags: [], own: true }], isOwn],
      [[{ tags: [], own: false }], (line) => !isOwn(line)],
      [
        [
          { tags: ['of7:1'], own: true },
          { tags: ['of7:2'], own: false },
        ],
        (line) => has(isOwn(line) ? 'of7:1' : 'of7:2')(line),
      ],
      [[{ tags: ['all'] }], () => true],
      [[{ tags: ['id:5'] }, { tags: [] }], () => true],
      [[], () => false],
    ]
    for (const [anyOf, holds] of cases) {
      const expected = all.filter(holds)
      assertSame(await linesOf(store, { anyOf, order: 'asc' }), expected, JSON.stringify(anyOf))
      assertSame(await linesOf(store, { anyOf, order: 'desc' }), expected.toReversed(), JSON.stringify(anyOf))
    }
  })

  large('tags and app IDs with any characters are distinguished', async (t, open) => {
    const store = await open(t)
    const texts = [
      'a',
      'ab',
      'b',
      'a"',
      '"',
      '\\',
      'a\\',
      'a\\"',
      ',',
      '","',
      '\u0001',
      '\u007f',
      '\u2028',
      'é',
      '😀',
      'a😀',
      ']',
      '"]',
    ]
    const pairs = texts.flatMap((first) => texts.map((second) => [first, second] as const))
    // Enough events that most can be sealed.
    const events = range(0, 4 * pairs.length).map((i) => {
      const [first = '', second = ''] = pairs[i % pairs.length] ?? []
      return { appId: texts[i % 5] ?? '', tags: [first, second], payload: `{"n":${i}}` }
    })
    await store.append(requestOf(events))
    const expected = (holds: (event: { appId: string; tags: readonly string[] }) => boolean) =>
      events.flatMap((event, i) => (holds(event) ? [i] : []))
    for (const text of texts) {
      const [tagged, published] = [[{ tags: [text] }], [{ tags: [], appId: text }]]
      assert.deepEqual(
        await numbersOf(store, { anyOf: tagged, order: 'asc' }),
        expected(({ tags }) => tags.includes(text)),
      )
      assert.deepEqual(
        await numbersOf(store, { anyOf: published, order: 'asc' }),
        expected(({ appId }) => appId === text),
      )
      assert.deepEqual(
        await numbersOf(store, { anyOf: [{ tags: [text, 'a"', text], appId: 'b' }], order: 'asc' }),
        expected(({ appId, tags }) => appId === 'b' && tags.includes(text) && tags.includes('a"')),
      )
    }
  })

  large('a read returns the events that existed when it started', async (t, open) => {
    const store = await open(t)
    const payload = JSON.stringify('x'.repeat(1500))
    const events = (count: number) => requestOf(Array.from({ length: count }, () => ({ payload })))
    await store.append(events(1500))
    const reads = await Promise.all(orders.map((order) => StartedRead.read(store, { ...everything, order })))
    await store.append(events(1000))
    for (const [i, read] of reads.entries()) {
      const offsets = (await read.rest()).map(({ offset }) => offset)
      assert.deepEqual(offsets, orders[i] === 'desc' ? range(0, 1500).reverse() : range(0, 1500))
    }
  })

  large('a cancelled read ends: before its first piece, between pieces, and while one is pending', async (t, open) => {
    const store = await open(t)
    const payload = JSON.stringify('x'.repeat(1500))
    await store.append(requestOf(Array.from({ length: 1500 }, () => ({ payload }))))
    const unread = store.read(everything)
    unread.cancel()
    for await (const piece of unread) assert.fail(`a piece of ${piece.length} bytes`)

    const begun = store.read(everything)
    let pieces = 0
    for await (const _ of begun) {
      pieces++
      begun.cancel()
    }
    assert.equal(pieces, 1)

    const few = store.read({ ...everything, upper: new Map([[0, 200]]) })
    const rest = few[Symbol.asyncIterator]()
    await rest.next()
    // By now all pieces that are produced ahead of the consumer have arrived.
    await store.append(requestOf([{}]))
    await numbersOf(store, { ...everything, upper: new Map([[0, -1]]) })
    few.cancel()
    assert.equal((await rest.next()).done, true)

    for await (const _ of store.read(everything)) break
    assert.equal((await linesOf(store)).length, 1501)
  })

  small('a read that is failed by its consumer ends with that error', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf([{}, {}]))
    const reading = store.read(everything)
    reading.fail(new Error('no more'))
    await assert.rejects(async () => {
      for await (const _ of reading);
    }, /no more/)
    await reading.ended
    assert.equal((await linesOf(store)).length, 2)
  })
})
