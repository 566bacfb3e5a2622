import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LruCache } from '../../src/base/lru-cache.ts'
import { tuning } from '../../src/base/tuning.ts'
import type { EventSink } from '../../src/store/port/index.ts'
import { LogCursor, type LogReader } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'

type Block = Parameters<EventSink['event']>[1]

/** Collects the blocks that it saw, which may be released meanwhile, and the size of their lines at that time. */
class Blocks implements EventSink {
  readonly seen = new Map<Block, number>()

  event(_stream: unknown, block: Block): boolean {
    this.seen.set(block, block.lineBytes(0, block.count))
    return true
  }
}

const payload = JSON.stringify('x'.repeat(1024 * 1024))

/** A log with one large event per block, twice as large as the cache. */
function largeLog(t: TestContext): { reader: LogReader; count: number } {
  const { writer, reader } = openLog(t)
  const count = Math.ceil((2 * tuning.blockCacheBytes) / payload.length)
  for (let i = 0; i < count; i++)
    writer.append([{ ...packed([{ appId: 'app', tags: ['t'], payload }]), streams: new Uint32Array(1) }])
  writer.sealAll()
  return { reader, count }
}

function scan(reader: LogReader, order: 'asc' | 'desc'): Blocks {
  const blocks = new Blocks()
  ok(new LogCursor(reader, { anyOf: [{ tags: ['t'] }], order }).run(blocks))
  return blocks
}

test('blocks of a scan are cached while there is room, and released at once otherwise', (t) => {
  const { reader, count } = largeLog(t)
  const first = scan(reader, 'asc')
  equal(first.seen.size, count)
  const kept = [...first.seen.keys()].filter(({ lamports }) => lamports.length > 0)
  notEqual(kept.length, 0)
  ok(kept.length <= tuning.blockCacheBytes / payload.length + 1)
  // A later scan has the same results, and finds the cached blocks; the last one is not cached.
  const second = scan(reader, 'asc')
  deepEqual([...second.seen.values()], [...first.seen.values()])
  ok(kept.slice(0, -1).every((block) => second.seen.has(block)))
  deepEqual([...scan(reader, 'desc').seen.values()].reverse(), [...first.seen.values()])
})

test('blocks of random reads are released when they are evicted', (t) => {
  const { reader, count } = largeLog(t)
  const blocks = new Blocks()
  for (let i = 0; i < count; i++) {
    // Each read is far from the one before, and continues to the next block, which releases the first one.
    const from = (i * 11) % (count - 1)
    const bounds = { lower: new Map([[0, from - 1]]), upper: new Map([[0, from + 1]]) }
    ok(new LogCursor(reader, { anyOf: [{ tags: ['t'] }], order: 'asc', ...bounds }).run(blocks))
  }
  ok([...blocks.seen.keys()].some(({ lamports }) => lamports.length === 0))
})

test('the block of an active cursor is not released, whatever others read meanwhile', (t) => {
  const { reader, count } = largeLog(t)
  const expected = [...scan(reader, 'asc').seen.values()]
  for (const order of ['asc', 'desc'] as const) {
    const sizes: number[] = []
    const cursor = new LogCursor(reader, { anyOf: [{ tags: ['t'] }], order })
    const oneByOne: EventSink = {
      event(_stream, block) {
        sizes.push(block.lineBytes(0, block.count))
        return false
      },
    }
    while (!cursor.run(oneByOne)) scan(reader, sizes.length % 2 === 0 ? 'asc' : 'desc')
    equal(sizes.length, count)
    deepEqual(order === 'asc' ? sizes : sizes.reverse(), expected)
  }
})

test('a smaller capacity evicts the least recently used entries', () => {
  const evicted: string[] = []
  const cache = new LruCache<string, number>(10, (_, key) => evicted.push(key))
  for (const key of ['a', 'b', 'c']) ok(cache.set(key, 1, 3))
  cache.get('a')
  cache.capacity = 9
  deepEqual(evicted, [])
  cache.capacity = 5
  deepEqual(evicted, ['b', 'c'])
  ok(!cache.set('d', 1, 6))
  cache.capacity = 20
  ok(cache.set('d', 1, 17))
  deepEqual([cache.get('a'), cache.get('d')], [1, 1])
})

test('setIfRoom does not evict other entries of the cache', () => {
  const cache = new LruCache<string, number>(10)
  ok(cache.set('a', 1, 6))
  ok(!cache.setIfRoom('b', 2, 5))
  ok(cache.setIfRoom('c', 3, 4))
  deepEqual(
    ['a', 'b', 'c'].map((name) => cache.get(name)),
    [1, undefined, 3],
  )
  ok(!cache.set('d', 4, 11))
})
