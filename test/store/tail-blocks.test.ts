import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { EventBlock } from '../../src/store/port/index.ts'
import { TailBlocks } from '../../src/store/sqlite/read/tail-blocks.ts'
import { chainPointOf, recordsOf, type TailRow, tailRow } from '../../src/store/sqlite/rows/tail-row.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'
import * as fc from '../support/property.ts'

test('a row that is sealed between two statements is reported as missing, not confused with the next row', (t) => {
  let time = 1_700_000_000_000_000
  const { writer } = openLog(t, () => time++)
  const event = { appId: 'com.example.a', tags: ['a'], payload: '1' }
  for (let i = 0; i < 3; i++) writer.append([{ ...packed([event, event]), streams: new Uint32Array(2) }])
  const { database } = writer
  let isGone = false
  // Deletes the row right after its key was looked up, as sealing does.
  const racing = {
    prepare(sql: string) {
      const statement = database.prepare(sql)
      if (!sql.startsWith('SELECT key FROM tail')) return statement
      const get = (key: number): unknown => {
        const found = statement.get(key)
        if (isGone) database.exec('DELETE FROM tail WHERE key < 4')
        return found
      }
      return { get }
    },
  } as unknown as DatabaseSync
  for (const step of [1, -1] as const) {
    const block = new TailBlocks(racing).at('stream-0', 3, step)
    assert.ok(block !== undefined && block.first <= 3 && block.first + block.count > 3)
  }
  isGone = true
  assert.equal(new TailBlocks(racing).at('stream-0', 3, 1), undefined)
  assert.equal(new TailBlocks(racing).at('stream-0', 5, 1)?.first, 4)
})

test('reading backwards from any event finds it and every event before it, across rows of any size', (t) => {
  const size = fc.constantFrom(1, 2, 11, 12, 13, 127, 128, 129, 300)
  fc.assert(
    fc.property(fc.array(size, { minLength: 1, maxLength: 12 }), fc.nat(), (sizes, start) => {
      let time = 1_700_000_000_000_000
      const { writer } = openLog(t, () => time++)
      let count = 0
      for (const size of sizes) {
        const events = Array.from({ length: size }, () => ({ appId: 'a', tags: ['a'], payload: `${count++}` }))
        writer.append([{ ...packed(events), streams: new Uint32Array(size) }])
      }
      // One instance caches rows, the other is new each time.
      const kept = new TailBlocks(writer.database)
      for (let key = start % count; key >= 0; key--) {
        const index = (block: EventBlock | undefined): number => key - (block?.first ?? Number.NaN)
        const [block, fresh] = [kept.at('s-0', key, -1), new TailBlocks(writer.database).at('s-0', key, -1)]
        assert.deepEqual([block?.payload(index(block)), fresh?.payload(index(fresh))], [`${key}`, `${key}`])
      }
      assert.equal(kept.at('s-0', count, -1), undefined)
    }),
    { numRuns: 30 },
  )
})

test('reading backwards through a large row reads the row once', (t) => {
  const { writer } = openLog(t)
  const events = Array.from({ length: 1000 }, (_, i) => ({ appId: 'a', tags: ['a'], payload: `${i}` }))
  writer.append([{ ...packed(events), streams: new Uint32Array(1000) }])
  // A single row, like a received chunk.
  const { database } = writer
  const rows = database.prepare('SELECT * FROM tail ORDER BY key').all() as unknown as TailRow[]
  const last = rows.at(-1) as TailRow
  const records = Buffer.concat(rows.map((row) => recordsOf(row)))
  const { key, count, lamport, hash, raw, crc, body } = tailRow(
    0,
    1000,
    last.lamport,
    chainPointOf(rows[0] as TailRow),
    records,
  )
  database.exec('DELETE FROM tail')
  database.prepare('INSERT INTO tail VALUES (?, ?, ?, ?, ?, ?, ?)').run(key, count, lamport, hash, raw, crc, body)
  let statements = 0
  const counting = {
    prepare(sql: string) {
      const statement = database.prepare(sql)
      const counted =
        <A extends unknown[], R>(ask: (...args: A) => R) =>
        (...args: A): R => {
          statements++
          return ask(...args)
        }
      return { get: counted(statement.get.bind(statement)), iterate: counted(statement.iterate.bind(statement)) }
    },
  } as unknown as DatabaseSync
  const tail = new TailBlocks(counting)
  for (let key = 999; key >= 0; key--) {
    const block = tail.at('s-0', key, -1)
    assert.equal(block?.payload(key - block.first), `${key}`)
  }
  assert.equal(statements, 1)
})

test('a block of large events is bounded by its bytes, in both directions', (t) => {
  const { writer } = openLog(t)
  const payload = JSON.stringify('x'.repeat(100_000))
  for (let i = 0; i < 40; i++)
    writer.append([{ ...packed([{ appId: 'a', tags: ['a'], payload }]), streams: new Uint32Array(1) }])
  for (const step of [1, -1] as const) {
    const tail = new TailBlocks(writer.database)
    for (let key = step > 0 ? 0 : 39; key >= 0 && key < 40; key += step) {
      const block = tail.at('s-0', key, step)
      assert.ok(block !== undefined && block.first <= key && key < block.first + block.count)
      assert.ok(block.lineBytes(0, block.count) < 300_000, `${block.count} events`)
    }
  }
})
