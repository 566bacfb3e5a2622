import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import {
  BlobStore,
  blobFile,
  blockFile,
  DataFolder,
  type DiskSync,
  diskSync,
  makeFolders,
  NodeDatabase,
  openBlocks,
  Slots,
  slotsFile,
  topicFile,
  topicsFolder,
} from '../../src/store/index.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'

/** Syncs directories, and records which. */
function recorder(): DiskSync & { take(): string[] } {
  let folders: string[] = []
  return {
    ...diskSync,
    folder(path) {
      diskSync.folder(path)
      folders.push(path)
    },
    take() {
      const taken = folders
      folders = []
      return taken
    },
  }
}

test('a data folder is created with its parents, and the parent directory of each new one is synced', (t) => {
  const base = temporaryFolder(t)
  const sync = recorder()
  const path = join(base, 'a', 'b', 'data')
  const open = (): void => DataFolder.open(path, { create: true }, sync).close()
  open()
  assert.deepEqual(sync.take(), [base, join(base, 'a'), join(base, 'a', 'b'), path])
  open()
  assert.deepEqual(sync.take(), [], 'existing directories are not synced again')
  makeFolders(topicsFolder(path), sync)
  assert.deepEqual(sync.take(), [path])
})

/** A folder with a folder for topics. */
function topics(t: TestContext): string {
  const folder = temporaryFolder(t)
  makeFolders(topicsFolder(folder))
  return folder
}

test('the directory of a database is synced when the database is created, and only then', (t) => {
  const folder = topics(t)
  const sync = recorder()
  const log = {
    file: topicFile(folder, 't'),
    topic: 't',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    now: () => 1,
  } as const
  for (const [file, open] of [
    [log.file, () => new LogWriter({ ...log, sync, random: systemRandom }).close()],
    [blobFile(folder, 't'), () => new BlobStore(blobFile(folder, 't'), () => 1, { sync }).close()],
    [blockFile(folder, 't'), () => openBlocks(blockFile(folder, 't'), { sync }).close()],
    [join(folder, 'node.db'), () => NodeDatabase.open(join(folder, 'node.db'), sync).close()],
  ] as const) {
    open()
    assert.deepEqual(sync.take(), [dirname(file)], file)
    open()
    assert.deepEqual(sync.take(), [], file)
  }
})

test('the directory of the slot file is synced when the file is created, and only then', async (t) => {
  const file = blockFile(topics(t), 't')
  const sync = recorder()
  const database = openBlocks(file)
  t.after(() => database.close())
  await new Slots(slotsFile(file), database, sync).close()
  assert.deepEqual(sync.take(), [dirname(file)])
  await new Slots(slotsFile(file), database, sync).close()
  assert.deepEqual(sync.take(), [])
})
