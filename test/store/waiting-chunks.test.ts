import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ForgedStream } from './acceptance/sources.ts'
import { endOf } from './acceptance/support.ts'

const key = KeyPair.generate(systemRandom)

/** A store with the first of three chunks, where the third one waits. It is closed. */
function storeWithWaiting(t: TestContext): { file: string; second: Buffer; third: Buffer } {
  const file = join(temporaryFolder(t), 'log.db')
  const stream = new ForgedStream()
  const [first, second, third] = [0, 1, 2].map((lamport) => stream.chunk([{ lamport }])) as [Buffer, Buffer, Buffer]
  const writer = open(file)
  writer.receive(first)
  assert.deepEqual(writer.receive(third, { before: endOf(second) }), { state: 'waiting', count: 1 })
  writer.close()
  return { file, second, third }
}

function open(file: string): LogWriter {
  return new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: nowMicros, random: systemRandom })
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

function received(t: TestContext, file: string, chunk: Uint8Array, before?: Uint8Array): unknown {
  const writer = open(file)
  t.after(() => writer.close())
  return writer.receive(chunk, { before })
}

test('a waiting chunk survives a restart', (t) => {
  const { file, second } = storeWithWaiting(t)
  assert.deepEqual(received(t, file, second), { state: 'stored', count: 3 })
})

for (const column of ['chunk', 'before'])
  test(`a waiting chunk with a damaged ${column} is dropped, and is accepted again`, (t) => {
    const { file, second, third } = storeWithWaiting(t)
    change(file, `UPDATE waiting SET ${column} = CAST(${column} || x'00' AS BLOB)`)
    assert.deepEqual(received(t, file, second), { state: 'stored', count: 2 })
    assert.deepEqual(received(t, file, third), { state: 'stored', count: 3 })
  })

test('the waiting chunks of an earlier version, which were not verified, are dropped with the first write', (t) => {
  const { file, second, third } = storeWithWaiting(t)
  change(
    file,
    `CREATE TABLE old (key INTEGER PRIMARY KEY, chunk BLOB NOT NULL) STRICT;
     INSERT INTO old SELECT key, chunk FROM waiting;
     DROP TABLE waiting;
     ALTER TABLE old RENAME TO waiting`,
  )
  assert.deepEqual(received(t, file, third, endOf(second)), { state: 'waiting', count: 1 })
  assert.deepEqual(received(t, file, second), { state: 'stored', count: 3 })
})
