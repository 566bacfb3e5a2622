import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { TailBlocks } from '../../src/store/log/tail-blocks.ts'
import { packed } from '../support/events.ts'
import { openLog } from '../support/log.ts'

test('a row that goes between two looks is missed, not taken for the one after it', (t) => {
  let time = 1_700_000_000_000_000
  const { writer } = openLog(t, () => time++)
  const event = { appId: 'com.example.a', tags: ['a'], payload: '1' }
  for (let i = 0; i < 3; i++) writer.append([{ ...packed([event, event]), streams: new Uint32Array(2) }])
  const { database } = writer
  let isGone = false
  // Says where the row of an event is, and then it is sealed.
  const meddling = {
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
    const block = new TailBlocks(meddling).at('stream-0', 3, step)
    assert.ok(block !== undefined && block.first <= 3 && block.first + block.count > 3)
  }
  isGone = true
  assert.equal(new TailBlocks(meddling).at('stream-0', 3, 1), undefined)
  assert.equal(new TailBlocks(meddling).at('stream-0', 5, 1)?.first, 4)
})
