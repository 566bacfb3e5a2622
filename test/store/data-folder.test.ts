import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DataFolder, NodeDatabase, topicFile, topicsFolder } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'

test('a folder is had once at a time, also within one process, and is free again after close', (t) => {
  const path = temporaryFolder(t)
  const first = DataFolder.open(path, { create: true })
  assert.throws(() => DataFolder.open(path, { create: true }), {
    code: 'ERR_IO',
    message: /locked by another shoal process/,
  })
  first.close()
  DataFolder.open(path, { create: false }).close()
})

test('a stale lock file is harmless', (t) => {
  const path = temporaryFolder(t)
  const folder = new URL('../../src/store/data-folder.ts', import.meta.url)
  const script = `import(${JSON.stringify(folder.href)}).then(({ DataFolder }) => { DataFolder.open(${JSON.stringify(path)}, { create: true }); process.kill(process.pid, 'SIGKILL') })`
  assert.equal(spawnSync(process.execPath, ['--eval', script]).signal, 'SIGKILL')
  DataFolder.open(path, { create: false }).close()
})

test('a manifest that is not ours is refused', (t) => {
  const path = temporaryFolder(t)
  for (const [text, message] of [
    ['{', /cannot be read/],
    ['{"product":"other","format":1}', /not the manifest/],
    ['null', /./],
  ] as const) {
    writeFileSync(join(path, 'shoal.json'), text)
    assert.throws(() => DataFolder.open(path, { create: true }), { code: 'ERR_INVALID_NODE_STATE', message })
  }
})

test('the key is made once, the start counter begins at 0 and rises with each start', (t) => {
  const file = join(temporaryFolder(t), 'node.db')
  const starts = Array.from({ length: 3 }, () => {
    const database = NodeDatabase.open(file)
    const start = database.beginStart()
    database.close()
    return start
  })
  assert.deepEqual(
    starts.map(({ cycle }) => cycle),
    [0, 1, 2],
  )
  assert.equal(new Set(starts.map(({ key }) => key.toPrivateText())).size, 1)
})

test('a key or a start counter that is damaged is named, and not replaced', (t) => {
  for (const [name, message] of [
    ['private_key', /private key .* is damaged/],
    ['cycles', /start counter .* is damaged/],
  ] as const) {
    const file = join(temporaryFolder(t), 'node.db')
    const first = NodeDatabase.open(file)
    first.beginStart()
    first.close()
    const database = new DatabaseSync(file)
    database.prepare('UPDATE node SET value = ? WHERE name = ?').run('x', name)
    database.close()
    const second = NodeDatabase.open(file)
    assert.throws(() => second.beginStart(), { code: 'ERR_INVALID_NODE_STATE', message })
    second.close()
  }
})

test('events without the identity of their node do not get another one', (t) => {
  const path = temporaryFolder(t)
  DataFolder.open(path, { create: true }).close()
  DataFolder.open(path, { create: true }).close()
  mkdirSync(topicsFolder(path))
  writeFileSync(topicFile(path, 'some topic'), '')
  assert.throws(() => DataFolder.open(path, { create: true }), {
    code: 'ERR_INVALID_NODE_STATE',
    message: /holds events, but `node\.db` with the identity of their node is missing/,
  })
  NodeDatabase.open(join(path, 'node.db')).close()
  DataFolder.open(path, { create: true }).close()
})
