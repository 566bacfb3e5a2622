import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'
import type { Branch } from '../../src/store/port/index.ts'
import { LogCursor } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'

const longAgo = 0

/** A log whose events have two of three common tags each, so that the index cannot narrow down all three together. */
function commonTags(t: Parameters<typeof openLog>[0], streams: number, count: number): ReturnType<typeof openLog> {
  const log = openLog(t)
  const events = Array.from({ length: count }, (_, i) => ({
    appId: 'app',
    tags: ['a', 'b', 'c'].filter((_, at) => at !== i % 3),
    payload: '1',
  }))
  for (let stream = 0; stream < streams; stream++)
    log.writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
  log.writer.sealAll()
  return log
}

const allThree: Branch = { tags: ['a', 'b', 'c'] }

test('a cursor without matches yields at the deadline, and continues at its position', (t) => {
  const { reader } = commonTags(t, 1, 3000)
  const cursor = new LogCursor(reader, { anyOf: [allThree], order: 'asc' })
  let turns = 0
  do {
    cursor.begin(longAgo)
    equal(cursor.next(), undefined)
  } while (cursor.isPending && ++turns < 1000)
  ok(turns >= 3000 / 64 - 1 && turns < 1000, `${turns} turns`)
})

test('copying lines yields at the deadline, too', (t) => {
  const { reader } = commonTags(t, 2, 1000)
  const cursor = new LogCursor(reader, { anyOf: [allThree], order: 'stream-asc' })
  const lines = new NdjsonWriter(1024)
  let turns = 0
  while (!cursor.run(lines, longAgo)) ok(++turns < 1000)
  ok(turns >= 2000 / 64 - 2, `${turns} turns`)
  equal(lines.written.length, 0)
})

test('the first events of many streams are found in several slices, and delivered in order', (t) => {
  const [streams, count] = [200, 3]
  const { reader } = commonTags(t, streams, count)
  for (const order of ['asc', 'desc'] as const) {
    const selection = { anyOf: [{ tags: ['b'] }], order, lamports: { from: 1, to: Number.POSITIVE_INFINITY } }
    const cursor = new LogCursor(reader, selection)
    const found: number[] = []
    let turns = 0
    do {
      cursor.begin(longAgo)
      for (let at = cursor.next(); at !== undefined; at = cursor.next())
        found.push(at.block.lamports[at.index] as number)
      turns++
    } while (cursor.isPending && turns < 1000)
    ok(turns >= streams / 32, `${turns} turns`)
    const expected = [...found].sort((a, b) => (order === 'asc' ? a - b : b - a))
    deepEqual(found, expected)
    // All but the very first event, which has lamport timestamp 0.
    equal(found.length, streams * 2 - 1)
  }
})

test('thousands of branches are prepared once, not for every stream and cursor', (t) => {
  const { reader } = commonTags(t, 10, 3)
  let reads = 0
  const branches = 1000
  const anyOf = Array.from(
    { length: branches },
    (_, i): Branch => ({
      get tags() {
        reads++
        return [`x${i}`, `y${i}`]
      },
    }),
  )
  for (let cursors = 0; cursors < 10; cursors++) {
    const cursor = new LogCursor(reader, { anyOf, order: 'asc' })
    cursor.begin()
    equal(cursor.next(), undefined)
  }
  ok(reads <= 20 * branches, `${reads} reads of ${branches} branches`)
})
