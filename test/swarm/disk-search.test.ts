import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { searchFolder } from '../support/disk-search.ts'
import { temporaryFolder } from '../support/folder.ts'
import { testRandom } from '../support/seed.ts'

const text = 'the text that is searched for'

test('a text is found as bytes, in zstd frames, in rows over many pages, in free pages and in the log', (t) => {
  const random = testRandom(t)
  const noise = (bytes: number) => Buffer.from(Array.from({ length: bytes }, () => 97 + random.below(20)))
  const packed = zstdCompressSync(Buffer.concat([noise(30_000), Buffer.from(`${text} ${text}`), noise(200_000)]))
  assert.ok(packed.length > 20_000 && !packed.includes(text))
  const folder = temporaryFolder(t)
  /** The kinds of findings in copies of files: the search must not touch files that this process has open. */
  const kinds = (name: string, ...files: string[]): string[] => {
    const copy = join(folder, name)
    mkdirSync(copy)
    for (const [i, file] of files.entries()) copyFileSync(file, join(copy, i === 0 ? 'log' : 'log-wal'))
    return [...new Set(searchFolder(copy, text).map(({ file, as }) => `${file.slice(copy.length + 1)}: ${as}`))].sort()
  }
  const plain = join(folder, 'plain')
  writeFileSync(plain, `x${text}`)
  assert.deepEqual(kinds('bytes', plain), ['log: bytes'])
  writeFileSync(plain, Buffer.concat([Buffer.from('123'), packed, Buffer.from('end')]))
  assert.deepEqual(kinds('frame', plain), ['log: zstd'])
  writeFileSync(plain, Buffer.concat([Buffer.from('123'), packed.subarray(0, packed.length - 9)]))
  assert.deepEqual(kinds('cut frame', plain), ['log: zstd'])

  const file = join(folder, 'database')
  const database = new DatabaseSync(file)
  t.after(() => database.close())
  database.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0')
  database.exec('PRAGMA secure_delete = OFF; CREATE TABLE row (key INTEGER PRIMARY KEY, body BLOB)')
  const insert = database.prepare('INSERT INTO row (body) VALUES (?)')
  insert.run(noise(20_000))
  insert.run(packed)
  assert.deepEqual(kinds('wal', file, `${file}-wal`), ['log-wal: zstd'])
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  assert.deepEqual(kinds('table', file, `${file}-wal`), ['log: zstd'])
  // The first page that is freed gets the list of the others; these keep their content.
  database.exec('DELETE FROM row WHERE key = 1; DELETE FROM row WHERE key = 2; PRAGMA wal_checkpoint(TRUNCATE)')
  assert.deepEqual(kinds('free pages', file, `${file}-wal`), ['log: zstd'])
  insert.run(packed)
  database.exec('PRAGMA secure_delete = ON; DELETE FROM row; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
  assert.deepEqual(kinds('erased', file, `${file}-wal`), [])
})
