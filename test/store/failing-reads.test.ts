import assert from 'node:assert/strict'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { DiskNotice } from '../../src/store/index.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openLog } from '../support/log.ts'

async function readAll(reading: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of reading);
}

test('a read that fails on a disk error reports that error, and the next successful read reports the recovery', async (t) => {
  const notices: DiskNotice[] = []
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(temporaryFolder(t), 'log.db'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    readerModule: new URL('../support/breaking-reader-thread.ts', import.meta.url),
    disk: (notice) => notices.push(notice),
  })
  t.after(() => store.close())
  const failing = store.start('refuse', {})
  await assert.rejects(readAll(failing), { code: 'ERR_STORAGE_READ', message: /could not be read: disk I\/O error/ })
  assert.deepEqual(notices, [{ work: 'query', refused: 'disk I/O error' }])
  await readAll(store.read({ anyOf: [{ tags: [] }], order: 'asc' }))
  assert.deepEqual(notices.slice(1), [{ work: 'query' }])
})

/** A log with an index. */
function sealedLog(t: TestContext) {
  const { writer, reader } = openLog(t)
  const events = Array.from({ length: format.eventsPerCheckpoint }, (_, i) => ({
    appId: 'a',
    tags: [`t${i % 7}`],
    payload: '1',
  }))
  writer.append([{ ...packed(events), streams: new Uint32Array(events.length) }])
  writer.sealAll()
  reader.refresh()
  return { writer, reader }
}

test('a disk error while reading the index is not treated as damage of the index', (t) => {
  const { writer, reader } = sealedLog(t)
  const [range] = reader.index.ranges(0)
  assert.ok(range)
  const reported: unknown[] = []
  reader.index.onDamaged = (...place) => reported.push(place)
  const refused = Object.assign(new Error('disk I/O error'), { errcode: 10 })
  const { get, all } = StatementSync.prototype
  const isPosting = ({ sourceSQL }: StatementSync) => sourceSQL.includes('posting')
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...args: never[]) {
    if (isPosting(this)) throw refused
    return get.apply(this, args as never)
  })
  t.mock.method(StatementSync.prototype, 'all', function (this: StatementSync, ...args: never[]) {
    if (isPosting(this)) throw refused
    return all.apply(this, args as never)
  })
  assert.throws(() => reader.index.positions(range, 1), refused)
  assert.throws(() => reader.index.positionsOfAny(range, new Set([1])), refused)
  assert.throws(() => writer.dropIndexAt(0, 0), { message: 'disk I/O error' })
  t.mock.restoreAll()
  assert.deepEqual(reported, [])
  assert.deepEqual(reader.index.ranges(0), [range])
  assert.equal(writer.upkeep.reindexNext(), false, 'nothing was dropped')
})
