import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemRandom } from '../../src/runtime/random.ts'
import { DataFolder, NodeDatabase, topicFile, topicsFolder } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'

test('a data folder is locked exclusively, also within one process, and unlocked by close', (t) => {
  const path = temporaryFolder(t)
  const first = DataFolder.open(path, { create: true })
  assert.throws(() => DataFolder.open(path, { create: true }), {
    code: 'ERR_IO',
    message: /locked by another shoal process/,
  })
  first.close()
  DataFolder.open(path, { create: false }).close()
})

test('opening a locked folder is refused with the PID of the owner and how to stop it', (t) => {
  const path = temporaryFolder(t)
  const first = DataFolder.open(path, { create: true })
  for (const part of [
    new RegExp(`is locked by another shoal process \\(PID ${process.pid}\\): a node is running there`),
    new RegExp(`Stop it first \\(Ctrl\\+C in its terminal or \`kill ${process.pid}\`\\)`),
    /another directory with --working-dir/,
    /over HTTP/,
  ])
    assert.throws(() => DataFolder.open(path, { create: false }), { code: 'ERR_IO', message: part })
  // A killed process leaves its PID file behind: it is not named as the owner.
  writeFileSync(join(path, 'lockfile.pid'), '4194305\n')
  assert.throws(() => DataFolder.open(path, { create: false }), { message: /another shoal process: a node is running/ })
  first.close()
  assert.ok(!existsSync(join(path, 'lockfile.pid')))
})

test('a folder that a failed start has created is removed with its parents, an existing one is kept', (t) => {
  const root = temporaryFolder(t)
  const made = DataFolder.open(join(root, 'a', 'b'), { create: true })
  NodeDatabase.open(made.nodeDatabase).close()
  mkdirSync(topicsFolder(made.path))
  writeFileSync(topicFile(made.path, 'some topic'), '')
  made.discard()
  assert.deepEqual(readdirSync(root), [])
  mkdirSync(join(root, 'before'))
  DataFolder.open(join(root, 'before'), { create: true }).discard()
  assert.deepEqual(readdirSync(root), ['before'])
  DataFolder.open(join(root, 'before'), { create: true }).close()
})

test('discarding a folder keeps the files of others in it', (t) => {
  const root = temporaryFolder(t)
  const made = DataFolder.open(join(root, 'a', 'b'), { create: true })
  writeFileSync(join(root, 'a', 'b', 'notes.txt'), 'mine')
  made.discard()
  assert.deepEqual(readdirSync(root, { recursive: true }).sort(), ['a', join('a', 'b'), join('a', 'b', 'notes.txt')])
})

/** Runs code without root privileges, which would bypass permissions. */
function unprivileged(work: () => void): void {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

for (const [what, closed] of [
  ['a folder', 'data'],
  ['the folder above it', '.'],
  ['the lock file', 'data/lockfile'],
] as const)
  test(`${what} without read permission is not reported as missing`, { skip: process.platform === 'win32' }, (t) => {
    const root = temporaryFolder(t)
    const path = join(root, 'data')
    DataFolder.open(path, { create: true }).close()
    for (const open of [root, path]) chmodSync(open, 0o755)
    chmodSync(join(root, closed), 0)
    try {
      for (const message of [
        /^the data directory `.*` may not be used by the user/,
        /Run shoal as its owner, or choose/,
      ])
        unprivileged(() => assert.throws(() => DataFolder.open(path, { create: false }), { code: 'ERR_IO', message }))
    } finally {
      chmodSync(join(root, closed), 0o700)
    }
  })

test('a folder of another user is refused with the ID of its owner', {
  skip: process.geteuid?.() !== 0 && 'it needs root',
}, (t) => {
  const path = temporaryFolder(t)
  DataFolder.open(path, { create: true }).close()
  unprivileged(() =>
    assert.throws(() => DataFolder.open(path, { create: true }), {
      message: /: it belongs to the user with the ID 0\./,
    }),
  )
})

test('a stale lock file is harmless', (t) => {
  const path = temporaryFolder(t)
  const folder = new URL('../../src/store/folder/data-folder.ts', import.meta.url)
  const script = `import(${JSON.stringify(folder.href)}).then(({ DataFolder }) => { DataFolder.open(${JSON.stringify(path)}, { create: true }); process.kill(process.pid, 'SIGKILL') })`
  assert.equal(spawnSync(process.execPath, ['--eval', script]).signal, 'SIGKILL')
  DataFolder.open(path, { create: false }).close()
})

test('an invalid manifest is refused', (t) => {
  const path = temporaryFolder(t)
  for (const [text, message] of [
    ['{', /cannot be read/],
    ['{"product":"other","format":1}', /not the manifest/],
    ['{"product":"shoal","format":0}', /not the manifest/],
    ['null', /./],
  ] as const) {
    writeFileSync(join(path, 'shoal.json'), text)
    assert.throws(() => DataFolder.open(path, { create: true }), { code: 'ERR_INVALID_NODE_STATE', message })
  }
})

test('the key is created once, and the start counter starts at 0 and increments with each start', (t) => {
  const file = join(temporaryFolder(t), 'node.db')
  const starts = Array.from({ length: 3 }, () => {
    const database = NodeDatabase.open(file)
    const start = database.beginStart(systemRandom)
    database.close()
    return start
  })
  assert.deepEqual(
    starts.map(({ startCounter }) => startCounter),
    [0, 1, 2],
  )
  assert.equal(new Set(starts.map(({ key }) => key.toPrivateText())).size, 1)
})

test('a damaged key or start counter is reported by name, and not replaced', (t) => {
  for (const [name, message] of [
    ['private_key', /private key .* is damaged/],
    ['cycles', /start counter .* is damaged/],
  ] as const) {
    const file = join(temporaryFolder(t), 'node.db')
    const first = NodeDatabase.open(file)
    first.beginStart(systemRandom)
    first.close()
    const database = new DatabaseSync(file)
    database.prepare('UPDATE node SET value = ? WHERE name = ?').run('x', name)
    database.close()
    const second = NodeDatabase.open(file)
    assert.throws(() => second.beginStart(systemRandom), { code: 'ERR_INVALID_NODE_STATE', message })
    second.close()
  }
})

test('a folder with events but without a node identity does not get a new identity', (t) => {
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
