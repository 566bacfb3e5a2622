import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import { format } from '../../src/base/format.ts'
import { Batches } from '../../src/files/thread/batches.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { Uploads } from '../../src/files/thread/uploads.ts'
import { ChunkMemory } from '../../src/files/unixfs/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { BlockStore, CountFile, openBlocks, Slots } from '../../src/store/index.ts'
import { nodeId } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { chunkOf, storeFile } from '../support/upload.ts'

function opened(t: TestContext, file: string): FileStore {
  const store = new FileStore(file, systemRuntime)
  t.after(() => store.close())
  return store
}

const eventKey = (lamport: number) => ({ lamport, stream: `${nodeId}-3` })
const has = (store: FileStore, cid: string): boolean => store.find(cid, []).content !== undefined

test('blocks left over from a crash are deleted when all events are known, unless an event pins them', async (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const crashed = new FileStore(file, systemRuntime)
  const [kept, lost] = [await storeFile(crashed, 'kept'), await storeFile(crashed, 'lost')]
  await crashed.close()
  const store = opened(t, file)
  const underWay = await storeFile(store, 'under way')
  await store.collect({ count: 0, bytes: 0 })
  assert.deepEqual([has(store, kept.cid), has(store, lost.cid)], [true, true])
  await store.apply([{ fact: { kind: 'upload', cid: kept.cid, isPinned: true }, key: eventKey(1) }], {
    [eventKey(1).stream]: 0,
  })
  await store.discardLeftovers()
  assert.deepEqual([has(store, kept.cid), has(store, lost.cid)], [true, false])
  assert.equal(has(store, underWay.cid), true)
  assert.deepEqual(store.appliedOffsets(), { [eventKey(1).stream]: 0 })
})

test('a late event does not override a newer one', async (t) => {
  const store = opened(t, join(temporaryFolder(t), 'blocks.db'))
  const [one, two] = [await storeFile(store, 'one'), await storeFile(store, 'two')]
  const named = (cid: string | undefined, lamport: number) =>
    store.apply([{ fact: { kind: 'name', name: 'name', cid }, key: eventKey(lamport) }])
  await named(two.cid, 5)
  await named(one.cid, 3)
  await named(undefined, 4)
  store.endUpload(one.id)
  store.endUpload(two.id)
  assert.equal(store.cidOf('name'), two.cid)
  assert.deepEqual([has(store, one.cid), has(store, two.cid)], [false, true])
})

test('a name keeps its pin when it is bound to the same CID in another spelling', async (t) => {
  const store = opened(t, join(temporaryFolder(t), 'blocks.db'))
  const { id, cid } = await storeFile(store, 'one')
  const spellings = [String(CID.create(0, 0x70, CID.parse(cid).multihash)), cid, CID.parse(cid).toString(base58btc)]
  for (const [i, spelling] of spellings.entries())
    await store.apply([{ fact: { kind: 'name', name: 'name', cid: spelling }, key: eventKey(i) }])
  store.endUpload(id)
  assert.equal(has(store, cid), true)
  await store.apply([{ fact: { kind: 'name', name: 'name', cid: undefined }, key: eventKey(spellings.length) }])
  await store.collect({ count: 0, bytes: 0 })
  assert.equal(has(store, cid), false)
})

test('a host is matched to a name exactly, or else case-insensitively', async (t) => {
  const store = opened(t, join(temporaryFolder(t), 'blocks.db'))
  const [one, two] = [await storeFile(store, 'one'), await storeFile(store, 'two')]
  const found = () => store.findSite('app', []).content?.cid
  const named = (name: string, cid: string | undefined, lamport: number) =>
    store.apply([{ fact: { kind: 'name', name, cid }, key: eventKey(lamport) }])
  await named('App', one.cid, 1)
  assert.equal(found(), one.cid)
  await named('app', two.cid, 2)
  assert.equal(found(), two.cid)
  await named('app', undefined, 3)
  assert.equal(found(), one.cid)
  await named('App', undefined, 4)
  assert.equal(found(), undefined)
})

test('after a disk error every upload that may have lost blocks fails, and later ones work', async (t) => {
  const folder = temporaryFolder(t)
  const database = openBlocks(join(folder, 'blocks.db'))
  const slots = new Slots(join(folder, 'blocks.slots'), database)
  t.after(async () => {
    await slots.close()
    database.close()
  })
  const countFile = new CountFile(join(folder, 'blocks.db'), 'commits')
  t.after(() => countFile.close())
  const [blocks, batches] = [new BlockStore(database, slots, Date.now), new Batches(database, slots, countFile)]
  const uploads = new Uploads(blocks, batches, systemRandom)
  const add = (id: number, text: string) => {
    const memory = new ChunkMemory()
    memory.chunk(0).set(Buffer.from(text))
    return uploads.addChunks(id, memory, text.length)
  }
  const innocent = uploads.begin()
  await add(innocent, 'small')
  const large = uploads.begin()
  database.exec('PRAGMA max_page_count = 40')
  const fill = async () => {
    for (let i = 0; i < 40; i++) await add(large, `${i}`.padEnd(100_000))
  }
  await assert.rejects(fill(), { code: 'ERR_STORAGE', message: /no room left on the disk/ })
  for (const id of [innocent, large]) {
    await assert.rejects(uploads.endFile(id), { code: 'ERR_STORAGE' })
    await assert.rejects(uploads.commit(id), { code: 'ERR_STORAGE' })
    uploads.end(id)
  }
  assert.equal(blocks.usage().blocks, 0)
  database.exec('PRAGMA max_page_count = 1000')
  const next = uploads.begin()
  await add(next, 'small')
  await uploads.endFile(next)
  await uploads.commit(next)
  assert.equal(blocks.usage().blocks, 1)
})

test('a file is read from any offset, and a missing block is reported', async (t) => {
  const store = opened(t, join(temporaryFolder(t), 'blocks.db'))
  const id = store.beginUpload()
  const content = Buffer.alloc(3 * format.fileChunkBytes - 5)
  for (let i = 0; i < content.length; i += 4) content.writeUInt32LE(i, Math.min(i, content.length - 4))
  for (let at = 0; at < content.length; at += format.fileChunkBytes)
    await store.addChunks(id, ...chunkOf(content.subarray(at, at + format.fileChunkBytes)))
  const { cid, size } = await store.endFile(id)
  for (const at of [0, 1, format.fileChunkBytes - 1, format.fileChunkBytes, size - 1]) {
    const end = Math.min(size, (Math.floor(at / format.fileChunkBytes) + 1) * format.fileChunkBytes)
    const piece = store.read(cid, at)
    assert.ok(piece instanceof Uint8Array)
    assert.deepEqual(Buffer.from(piece), content.subarray(at, end))
  }
  assert.throws(() => store.read(cid, size), { name: 'MalformedUnixFs' })
  store.endUpload(id)
  assert.deepEqual(store.read(cid, 0), { missing: cid })
})
