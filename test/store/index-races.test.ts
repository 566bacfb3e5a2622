import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Order } from '../../src/store/port/index.ts'
import { LogCursor, type LogReader, type LogWriter } from '../../src/store/sqlite/index.ts'
import { TailIndexes } from '../../src/store/sqlite/tag-index/tail-indexes.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'

function append(writer: LogWriter, stream: number, count: number, tagsOf: (i: number) => string[]): void {
  const events = Array.from({ length: count }, (_, i) => ({ appId: 'app', tags: tagsOf(i), payload: '1' }))
  writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
}

function offsetsOf(cursor: LogCursor): number[] {
  cursor.begin()
  const found: number[] = []
  for (let at = cursor.next(); at !== undefined; at = cursor.next()) found.push(at.block.first + at.index)
  return found
}

function search(reader: LogReader, tag: string, order: Order): LogCursor {
  return new LogCursor(reader, { anyOf: [{ tags: [tag] }], order })
}

for (const order of ['asc', 'desc'] as const)
  test(`a seal while a query looks for unsealed events loses none and adds none, ${order}`, (t) => {
    const { writer, reader } = openLog(t)
    const add = (): void => append(writer, 0, 100, (i) => [i === 0 ? 'few' : 'other'])
    for (let i = 0; i < 11; i++) add()
    const expected = offsetsOf(search(reader, 'few', order))
    equal(expected.length, 11)
    const cursor = search(reader, 'few', order)
    // Events after the snapshot of the cursor, so that there is a chunk to seal.
    for (let i = 0; i < 9; i++) add()
    const { tailIndexes } = reader
    const extendedTo = tailIndexes.extendedTo.bind(tailIndexes)
    let isSealed = false
    t.mock.method(tailIndexes, 'extendedTo', (...args: Parameters<typeof extendedTo>) => {
      if (!isSealed) writer.sealAll()
      isSealed = true
      return extendedTo(...args)
    })
    deepEqual(offsetsOf(cursor), expected)
    ok(isSealed)
  })

test('an event with two tags of the same hash is found once', (t) => {
  // Found by trying names.
  const [a, b] = ['t439599', 't622382']
  const { writer, reader } = openLog(t)
  append(writer, 0, 1500, (i) => (i % 500 === 7 ? [a, b] : ['other']))
  deepEqual(offsetsOf(search(reader, a, 'asc')), [7, 507, 1007], 'not sealed')
  writer.sealAll()
  deepEqual(offsetsOf(search(reader, a, 'asc')), [7, 507, 1007], 'sealed')
  deepEqual(offsetsOf(search(reader, b, 'desc')), [1007, 507, 7])
})

test('a query without matches over many streams and ranges yields at the deadline, in both orders', (t) => {
  const { writer, reader } = openLog(t)
  for (let stream = 0; stream < 100; stream++) append(writer, stream, 20, () => ['other'])
  for (const order of ['asc', 'desc'] as const) {
    const cursor = search(reader, 'none', order)
    let slices = 0
    do {
      cursor.begin(0)
      equal(cursor.next(), undefined)
    } while (cursor.isPending && ++slices < 1000)
    ok(slices >= 20 && slices < 1000, `${slices} slices, ${order}`)
  }
})

test('indexes of sealed events make room for others, and a smaller capacity is respected', (t) => {
  const { writer, reader } = openLog(t)
  const { tailIndexes } = reader
  const known = (): number => [0, 1, 2, 3].filter((stream) => tailIndexes.known(stream) !== undefined).length
  for (let stream = 0; stream < 4; stream++) append(writer, stream, 1024, (i) => [`v${i}`])
  offsetsOf(search(reader, 'v1', 'asc'))
  equal(known(), 4)
  const bytes = tailIndexes.known(0)?.heldBytes ?? 0
  tailIndexes.capacity = bytes
  equal(known(), 0, 'what exceeds it is dropped')
  offsetsOf(search(reader, 'v1', 'asc'))
  ok(known() <= 2, 'and not indexed again')
  writer.sealAll()
  for (let stream = 0; stream < 4; stream++) append(writer, stream, 10, (i) => [`v${i}`])
  // The first query drops the index of sealed events, the second one has the memory.
  for (let i = 0; i < 2; i++) equal(offsetsOf(search(reader, 'v1', 'asc')).length, 8)
  equal(known(), 4, 'short tails fit')
})

test('a tail that is longer than an index range is not indexed', () => {
  const indexes = new TailIndexes(() => {
    throw new Error('no event is read')
  })
  equal(indexes.extendedTo(0, 0, 2 ** 20), undefined)
})
