import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { heads, pruneRecords, verifyRedactionRecord } from '../../src/protocol/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { LogReader, LogWriter, SharedCounts, verifyLog } from '../../src/store/sqlite/index.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { formatOf } from '../../src/store/sqlite/sqlite-header.ts'
import { appHash, postingKey, tagHash } from '../../src/store/sqlite/tag-index/tag-index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { contentsOf, keptStore } from './fixtures/contents.ts'

const key = new KeyPair(Buffer.alloc(32, 3))

function open(file: string, topic = 't', kind: 'live' | 'imported' = 'live'): LogWriter {
  return new LogWriter({ file, topic, kind, key, now: () => 1, random: systemRandom })
}

/** Creates a store with some events. */
function write(file: string): void {
  const writer = open(file)
  const events = Array.from({ length: 2000 }, (_, i) => ({ appId: 'a', tags: ['x'], payload: String(i) }))
  writer.append([{ ...packed(events), streams: new Uint32Array(events.length) }])
  writer.sealAll()
  writer.close()
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** The hashes of all files in a folder. */
function filesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  )
}

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof ShoalError && error.code === 'ERR_INVALID_NODE_STATE' && message.test(error.message)

test('the numbers of the log format have their pinned values', (t) => {
  const { logApplicationId, logFormatVersion, logPageBytes, blocksPerSegment } = format
  assert.deepEqual([logApplicationId, logFormatVersion, logPageBytes, blocksPerSegment], [0x73686c6f, 4, 4096, 16])
  const { eventsPerRange, rangesPerLog, bucketsPerRange } = format
  assert.deepEqual([eventsPerRange, rangesPerLog, bucketsPerRange], [1048576, 137438953471, 65536])
  assert.deepEqual([tagHash('x'), appHash('com.example.press')], [0x2f5cf62c, 0xe8df194e])
  assert.deepEqual([postingKey(3, 5), rowKey(3, 5)], [196613, 3298534883333])
  const file = join(temporaryFolder(t), 'log.db')
  open(file).close()
  assert.deepEqual(formatOf(file), { applicationId: logApplicationId, userVersion: logFormatVersion })
  assert.equal(readFileSync(file).readUInt16BE(16), logPageBytes, 'the page size in the header')
})

test('a store of a later format version is refused and not changed', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  write(file)
  change(file, 'PRAGMA user_version = 9')
  const before = filesOf(folder)
  const future = refusal(/Detected future version 9 .*Nothing was changed/)
  assert.throws(() => open(file), future)
  assert.deepEqual(filesOf(folder), before)
  await assert.rejects(SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key }), future)
  assert.deepEqual(filesOf(folder), before)
})

test('a store of a later format version that was killed is refused and not changed', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const running = join(temporaryFolder(t), 'running.db')
  write(running)
  const database = new DatabaseSync(running)
  t.after(() => database.close())
  // The version is only in the write-ahead log.
  database.exec('PRAGMA user_version = 5')
  for (const suffix of ['', '-wal', '-shm']) copyFileSync(`${running}${suffix}`, `${file}${suffix}`)
  const before = filesOf(folder)
  assert.deepEqual(Object.keys(before), ['log.db', 'log.db-shm', 'log.db-wal'])
  assert.throws(() => open(file), refusal(/Detected future version 5/))
  assert.deepEqual(filesOf(folder), before)
})

test('readers and verify also refuse a store of a later format version', (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  write(file)
  change(file, 'PRAGMA user_version = 9')
  const before = filesOf(folder)['log.db']
  assert.throws(
    () => new LogReader(file, new SharedCounts(), key.publicKey, systemClock),
    refusal(/Detected future version 9/),
  )
  assert.throws(() => verifyLog(file), refusal(/Detected future version 9/))
  assert.equal(filesOf(folder)['log.db'], before)
})

test('a store of another topic or kind is refused', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  write(file)
  const before = readFileSync(file)
  assert.throws(() => open(file, 'other'), refusal(/holds the live topic 't', not the live topic 'other'/))
  assert.throws(() => open(file, 't', 'imported'), refusal(/holds the live topic 't', not the imported topic 't'/))
  await assert.rejects(
    SqliteEventStore.open({ runtime: systemRuntime, file, topic: 'other', kind: 'live', key }),
    refusal(/holds the live topic 't'/),
  )
  assert.deepEqual(readFileSync(file), before)
  open(file).close()
})

test('a file that is not an event log is refused and not changed', (t) => {
  const folder = temporaryFolder(t)
  const foreign = join(folder, 'foreign.db')
  change(foreign, 'CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)')
  const marked = join(folder, 'marked.db')
  change(marked, 'PRAGMA application_id = 77; PRAGMA user_version = 1; CREATE TABLE theirs (a)')
  const text = join(folder, 'text.db')
  writeFileSync(text, 'this is no database, but it is long enough to be taken for one '.repeat(20))
  const before = filesOf(folder)
  for (const file of [foreign, marked, text]) assert.throws(() => open(file), refusal(/is no event log|cannot be used/))
  assert.deepEqual(filesOf(folder), before)
})

test('a closed store is a single file with its count file', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const store = await SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key })
  const events = [{ appId: 'a', tags: ['x'], payload: '1' }]
  await store.append({ ...packed(events), streams: new Uint32Array(1) })
  await store.close()
  assert.deepEqual(readdirSync(folder).sort(), ['log.db', 'log.db-count'])
})

test('an empty or incompletely created file becomes a store', (t) => {
  const folder = temporaryFolder(t)
  const [empty, begun] = [join(folder, 'empty.db'), join(folder, 'begun.db')]
  writeFileSync(empty, '')
  change(begun, 'PRAGMA journal_mode = WAL')
  for (const file of [empty, begun]) {
    open(file).close()
    assert.deepEqual(verifyLog(file).problems, [])
  }
})

for (const version of ['v1', 'v2', 'v3'])
  test(`a store of format ${version} can be read and continued`, (t) => {
    const kept = keptStore(version)
    const file = join(temporaryFolder(t), 'log.db')
    copyFileSync(kept.file, file)
    assert.deepEqual(verifyLog(file).problems, [])
    assert.ok(contentsOf(file, 'fixture', kept.key) === kept.contents, 'its contents are unchanged')
    assert.ok(!existsSync(`${kept.file}-wal`), 'the fixture itself is not opened')
    assert.equal(`v${formatOf(file)?.userVersion}`, version, 'reading does not migrate it')
    const event = { appId: 'a', tags: ['x'], payload: '1' }
    const writer = new LogWriter({
      file,
      topic: 'fixture',
      kind: 'live',
      key: kept.key,
      now: () => 1,
      random: systemRandom,
    })
    // Twice: after a row of the old version, and after one of the current version.
    for (const stream of [0, 0, 3]) writer.append([{ ...packed([event]), streams: Uint32Array.of(stream) }])
    // Records of version 1: an own prune record is signed again, redaction records are sent as they are.
    const { prune, redactions } = writer.records(0)
    assert.equal(pruneRecords.verify(prune?.record as Uint8Array).hash, heads.verify(prune?.head as Uint8Array).hash)
    assert.deepEqual(
      redactions.map((record) => [Buffer.from(record).toString('latin1', 0, 17), verifyRedactionRecord(record).ranges]),
      [1025, 2253].map((first) => ['shoal/redaction/1', [{ first, count: 1 }]]),
    )
    writer.close()
    assert.equal(formatOf(file)?.userVersion, format.logFormatVersion, 'a write migrates it')
    assert.deepEqual(verifyLog(file).problems, [])
  })
