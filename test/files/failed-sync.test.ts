import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { format } from '../../src/base/format.ts'
import { tuning } from '../../src/base/tuning.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type DiskSync, diskSync } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { chunkOf } from '../support/upload.ts'

const broken = new Error('EIO: i/o error, fdatasync')

/** A disk whose first background sync is settled by the test. All other syncs succeed. */
class HeldSyncs implements DiskSync {
  readonly folder = (): void => {}
  readonly data = (): void => {}
  /** The sync in progress. */
  held: ((error: Error | null) => void) | undefined

  dataLater(descriptor: number, done: (error: Error | null) => void): void {
    if (this.held === undefined) this.held = done
    else {
      diskSync.data(descriptor)
      done(null)
    }
  }

  end(error: Error | null): void {
    assert.ok(this.held, 'a background sync is under way')
    this.held(error)
  }
}

function open(t: TestContext): { store: FileStore; syncs: HeldSyncs } {
  const syncs = new HeldSyncs()
  const store = new FileStore(join(temporaryFolder(t), 'blocks.db'), systemRuntime, { sync: syncs })
  t.after(() => store.close())
  return { store, syncs }
}

let fill = 0

/** Adds chunks to an upload until a background sync begins. */
async function addMuch(store: FileStore, id: number): Promise<void> {
  for (let bytes = 0; bytes < tuning.slotSyncBytes; bytes += format.fileChunkBytes)
    await store.addChunks(id, ...chunkOf(Buffer.alloc(format.fileChunkBytes, ++fill)))
}

const refused = { code: 'ERR_STORAGE', message: /EIO/ }
const lost = { code: 'ERR_STORAGE', message: /could not be kept/ }

test('a background sync that fails while a commit waits fails every upload it covers, and none after it', async (t) => {
  const { store, syncs } = open(t)
  const [first, second] = [store.beginUpload(), store.beginUpload()]
  await addMuch(store, first)
  await store.addChunks(second, ...chunkOf(Buffer.alloc(format.fileChunkBytes, 255)))
  await store.endFile(first)
  const committed = store.commitUpload(first)
  // Time for the sync of the commit itself, in case it does not wait.
  await setImmediate()
  syncs.end(broken)
  await assert.rejects(committed, refused)
  await assert.rejects(store.endFile(second), lost)
  await assert.rejects(store.commitUpload(second), lost)
  const next = store.beginUpload()
  await addMuch(store, next)
  const { cid, size } = await store.endFile(next)
  await store.commitUpload(next)
  assert.equal(store.find(cid, []).content?.size, size)
  assert.equal(store.usage().blocks, tuning.slotSyncBytes / format.fileChunkBytes + 1)
})

test('a background sync that failed before a commit fails the commit, even if its own sync succeeds', async (t) => {
  const { store, syncs } = open(t)
  const id = store.beginUpload()
  await addMuch(store, id)
  syncs.end(broken)
  await store.addChunks(id, ...chunkOf(Buffer.alloc(1000, 1)))
  await store.endFile(id)
  await assert.rejects(store.commitUpload(id), refused)
  assert.equal(store.usage().blocks, 0)
})

test('a sync that begins before a rollback and fails after it fails uploads written in between', async (t) => {
  const { store, syncs } = open(t)
  const lostUpload = store.beginUpload()
  await addMuch(store, lostUpload)
  await assert.rejects(store.apply([undefined as never], {}), { code: 'ERR_STORAGE' })
  const next = store.beginUpload()
  await store.addChunks(next, ...chunkOf(Buffer.alloc(format.fileChunkBytes, 7)))
  await store.endFile(next)
  const committed = store.commitUpload(next)
  syncs.end(broken)
  await assert.rejects(committed, refused)
})

test('a sync that begins before a rollback and fails after it does not fail later uploads', async (t) => {
  const { store, syncs } = open(t)
  const lostUpload = store.beginUpload()
  await addMuch(store, lostUpload)
  await assert.rejects(store.apply([undefined as never], {}), { code: 'ERR_STORAGE' })
  syncs.end(broken)
  const next = store.beginUpload()
  await store.addChunks(next, ...chunkOf(Buffer.alloc(format.fileChunkBytes, 7)))
  const { cid } = await store.endFile(next)
  await store.commitUpload(next)
  assert.notEqual(store.find(cid, []).content, undefined)
})
