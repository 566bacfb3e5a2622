import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readChunk } from '../../src/replication/index.ts'
import { openForReading } from '../../src/store/sqlite/index.ts'
import { StreamServer } from '../../src/store/sqlite/read/stream-server.ts'
import { openLog } from '../support/log.ts'
import { numbered, requestOf } from './acceptance/support.ts'

test('a chunk that is sealed while its rows are read is read completely', (t) => {
  const { writer } = openLog(t)
  for (let i = 0; i < 8; i++) writer.append([requestOf(numbered(128, 128 * i))])
  const database = openForReading(writer.database.location() as string)
  t.after(() => database.close())
  let hasReadTail = false
  const sealing: DatabaseSync = new Proxy(database, {
    get: (target, name) => {
      if (name !== 'prepare') return (Reflect.get(target, name) as () => unknown).bind(target)
      return (sql: string) => {
        if (/FROM tail/.test(sql)) {
          hasReadTail = true
          writer.sealAll()
        }
        return target.prepare(sql)
      }
    },
  })
  const chunk = new StreamServer(sealing, writer.counts, () => []).chunk(0, 0, writer.head(0))
  assert.equal(readChunk(chunk as Uint8Array).head.count, 1024)
  assert.ok(hasReadTail && writer.counts.sealed(0) === 1024)
})
