import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readChunk } from '../../src/replication/index.ts'
import { type LogWriter, openForReading, SharedCounts } from '../../src/store/sqlite/index.ts'
import { StreamServer } from '../../src/store/sqlite/read/stream-server.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { openLog } from '../support/log.ts'
import { numbered, requestOf } from './acceptance/support.ts'

function serverOf(t: TestContext, writer: LogWriter, counts = writer.counts): StreamServer {
  const database = openForReading(writer.database.location() as string)
  t.after(() => database.close())
  return new StreamServer(database, counts, () => [])
}

test('a missing row is detected by every read that needs it, and by no other', (t) => {
  const { writer } = openLog(t)
  for (let i = 0; i < 5; i++) writer.append([requestOf(numbered(10, 10 * i))])
  const server = serverOf(t, writer)
  writer.database.exec(`DELETE FROM tail WHERE key = ${rowKey(0, 20)}`)
  const head = writer.head(0)
  const missing = { name: 'DamagedData', message: 'the event 20 of stream 0 is missing' }
  for (const from of [0, 10, 20]) {
    assert.throws(() => server.chunk(0, from, head), missing)
    assert.throws(() => server.chunks(0, from, head, 1), missing)
  }
  for (const from of [30, 40]) assert.equal(readChunk(server.chunk(0, from, head) as Uint8Array).first, from)
  assert.ok(server.hashAt(0, 20))
  assert.throws(() => server.hashAt(0, 30), missing)
})

test('a damaged row of another stream does not affect a stream', (t) => {
  const { writer } = openLog(t)
  writer.append([requestOf([...numbered(10), ...numbered(10, 0, 1)])])
  const server = serverOf(t, writer)
  // Its events seem to reach into the next stream.
  writer.database.exec(`UPDATE tail SET count = ${rowKey(1, 5)} WHERE key = 0`)
  assert.equal(readChunk(server.chunk(1, 0, writer.head(1)) as Uint8Array).head.count, 10)
  assert.throws(() => server.chunk(0, 0, writer.head(0)), { name: 'DamagedData' })
})

test('events that were pruned after the last published count are reported as pruned, not as damaged', (t) => {
  const { writer } = openLog(t)
  for (let i = 0; i < 5; i++) writer.append([requestOf(numbered(10, 10 * i))])
  const server = serverOf(t, writer, new SharedCounts())
  const head = writer.head(0)
  writer.prune(0, 30)
  assert.throws(() => server.chunk(0, 10, head), { code: 'ERR_INVALID_INPUT', message: /were pruned/ })
  assert.equal(server.hashAt(0, 10), 'pruned')
  assert.equal(readChunk(server.chunk(0, 30, head) as Uint8Array).first, 30)
})

test('a damaged entry of a stream fails the read of the head table', (t) => {
  const { writer, reader } = openLog(t)
  const other = openLog(t)
  other.writer.append([requestOf(numbered(10))])
  writer.receive(other.reader.chunk(0, 0, other.writer.head(0)) as Uint8Array)
  assert.equal(reader.serve((server) => server.headTable([])).length, 1)
  writer.database.exec('UPDATE stream SET pruned = 1')
  assert.throws(() => reader.serve((server) => server.headTable([])), { name: 'DamagedData' })
})
