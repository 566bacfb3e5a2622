import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { DamagedData } from '../../src/store/sqlite/index.ts'
import { appended, assertExactly, assertVerified, openLog, read } from '../support/caller.ts'
import { temporaryFolder } from '../support/folder.ts'

test('a database file that is truncated while open is reported as damaged, and readable again once restored', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const before = await openLog(file)
  const { stored } = await appended(before, 5000)
  await before.settle()
  await before.close()
  const store = await openLog(file)
  t.after(() => store.close())
  // No background work may write to the file between its copy and its restoration.
  await store.settle()
  // In child processes: closing a database file in this process would release its locks.
  execFileSync('cp', [file, join(folder, 'whole')])
  execFileSync('truncate', ['-s', '40960', file])
  await assert.rejects(read(store), DamagedData)
  execFileSync('dd', [`if=${join(folder, 'whole')}`, `of=${file}`, 'conv=notrunc'], { stdio: 'ignore' })
  await assertExactly(store, stored)
  const caller = await appended(store, 10)
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})
