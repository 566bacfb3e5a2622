import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CID } from 'multiformats/cid'
import { format } from '../../src/base/format.ts'
import { FileStore, type FileStoreOptions } from '../../src/files/thread/file-store.ts'
import type { BlockLink } from '../../src/files/thread/shared-blocks.ts'
import { type Block, FileBuilder, storeFolder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type BackgroundNotice, BackgroundReporter, type BlockNotice, diskSync } from '../../src/store/index.ts'
import { nodeId } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { noise } from '../support/noise.ts'

const gibibyte = 1024 ** 3

function opened(t: TestContext, options?: FileStoreOptions, file = join(temporaryFolder(t), 'blocks.db')): FileStore {
  const store = new FileStore(file, systemRuntime, options)
  t.after(() => store.close())
  return store
}

/** The blocks of a file by CID, as another node has them. */
function blocksOf(content: Buffer): { cid: string; blocks: Map<string, Uint8Array> } {
  const blocks = new Map<string, Uint8Array>()
  const keep = ({ cid, bytes }: Block): void => void blocks.set(String(cid), Uint8Array.from(bytes))
  const builder = new FileBuilder(keep)
  for (let at = 0; at < content.length; at += format.fileChunkBytes)
    builder.add(content.subarray(at, at + format.fileChunkBytes))
  const { cid, size } = builder.finish()
  const folder = storeFolder([{ path: ['file'], cid, size }], keep)
  return { cid: String(folder.cid), blocks }
}

const textOf = (cid: Uint8Array): string => String(CID.decode(cid))

/** The blocks as the exchange with other nodes sees them. */
function exchanged(store: FileStore): BlockLink {
  return store.link(() => {})
}

/** Learns about an upload. Returns whether the exchange is notified of wanted blocks. */
async function learn(store: FileStore, cid: string, lamport = 1): Promise<boolean> {
  const notices: BlockNotice[] = []
  store.link((notice) => notices.push(notice))
  await store.apply([{ fact: { kind: 'upload', cid, isPinned: true }, key: { lamport, stream: `${nodeId}-3` } }])
  return notices.some(({ is }) => is === 'wanted')
}

/** Fetches everything that is wanted. Returns the CIDs in the order in which they were fetched. */
async function fetchAll(store: FileStore, blocks: ReadonlyMap<string, Uint8Array>): Promise<string[]> {
  const fetched: string[] = []
  for (;;) {
    const { cids } = exchanged(store).wanted('start')
    const [next] = cids
    if (next === undefined) return fetched
    const bytes = blocks.get(textOf(next))
    assert.ok(bytes !== undefined)
    const { outcome } = await exchanged(store).receive(next, bytes)
    assert.equal(outcome, 'stored')
    fetched.push(textOf(next))
  }
}

async function contentOf(store: FileStore, cid: string): Promise<Buffer> {
  const { content } = store.find(cid, ['file'])
  assert.ok(content?.type === 'file')
  const pieces: Uint8Array[] = []
  for (let at = 0; at < content.size; ) {
    const piece = store.read(content.cid, at)
    assert.ok(piece instanceof Uint8Array)
    pieces.push(piece)
    at += piece.length
  }
  return Buffer.concat(pieces)
}

test('an upload of another node is fetched block by block, and is there after a restart', async (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const content = noise(5 * format.fileChunkBytes + 1000)
  const { cid, blocks } = blocksOf(content)
  const store = new FileStore(file, systemRuntime)
  assert.equal(await learn(store, cid), true)
  assert.equal(await learn(store, cid, 2), false)
  const fetched = await fetchAll(store, blocks)
  assert.equal(fetched[0], cid)
  assert.deepEqual(new Set(fetched), new Set(blocks.keys()))
  assert.deepEqual(await contentOf(store, cid), content)
  await store.close()
  const reopened = opened(t, {}, file)
  assert.deepEqual(await contentOf(reopened, cid), content)
  assert.deepEqual(exchanged(reopened).wanted('start'), { cids: [], isEnd: true, hasRoom: true })
})

test('stored blocks are read for other nodes, and missing ones are not', async (t) => {
  const store = opened(t)
  const { cid, blocks } = blocksOf(noise(1000))
  await learn(store, cid)
  const [root] = exchanged(store).wanted('start').cids
  assert.ok(root !== undefined)
  assert.equal(exchanged(store).read(root), undefined)
  await fetchAll(store, blocks)
  assert.deepEqual(exchanged(store).read(root), blocks.get(cid))
})

test('the missing block of a file is named, on the path to it and in the middle of it', async (t) => {
  const store = opened(t)
  const { cid, blocks } = blocksOf(noise(2 * format.fileChunkBytes))
  await learn(store, cid)
  assert.deepEqual(store.find(cid, ['file']), { by: 'cid', content: undefined, missing: cid })
  const receive = async (): Promise<string> => {
    const [next = new Uint8Array(0)] = exchanged(store).wanted('start').cids
    await exchanged(store).receive(next, blocks.get(textOf(next)) ?? new Uint8Array(0))
    return textOf(next)
  }
  await receive()
  const { missing } = store.find(cid, ['file'])
  assert.equal(missing, textOf(exchanged(store).wanted('start').cids[0] ?? new Uint8Array(0)))
  assert.deepEqual(store.find(cid, ['other']), { by: 'cid', content: undefined })
  await receive()
  const { content } = store.find(cid, ['file'])
  assert.ok(content !== undefined)
  const lacking = store.read(content.cid, format.fileChunkBytes)
  assert.ok(lacking !== undefined && 'missing' in lacking && blocks.has(lacking.missing))
})

test('wanted blocks are listed in parts, and wrong bytes are refused', async (t) => {
  const store = opened(t)
  const { cid, blocks } = blocksOf(noise(1000))
  await learn(store, cid)
  const [root = new Uint8Array(0)] = exchanged(store).wanted('start').cids
  assert.deepEqual(exchanged(store).wanted('next'), { cids: [], isEnd: true, hasRoom: true })
  const wrong = Uint8Array.from(blocks.get(cid) ?? [])
  wrong[0] = (wrong[0] ?? 0) ^ 1
  assert.deepEqual(await exchanged(store).receive(root, wrong), { outcome: 'wrong', newWants: [] })
  assert.equal(exchanged(store).read(root), undefined)
})

test('a received block that is lost with a failed commit is wanted again, which is reported', async (t) => {
  let failure: Error | null = null
  const sync = { ...diskSync, dataLater: (_: number, done: (error: Error | null) => void) => done(failure) }
  const store = opened(t, { sync })
  const { cid, blocks } = blocksOf(noise(2 * format.fileChunkBytes))
  await learn(store, cid)
  const lost: string[] = []
  while (lost.length < 3) {
    const [next = new Uint8Array(0)] = exchanged(store).wanted('start').cids
    lost.push(textOf(next))
    await exchanged(store).receive(next, blocks.get(textOf(next)) ?? new Uint8Array(0))
  }
  failure = new Error('EIO: i/o error, fdatasync')
  await assert.rejects(store.apply([], { [`${nodeId}-3`]: 0 }), { code: 'ERR_STORAGE' })
  failure = null
  assert.equal(await learn(store, cid, 2), true)
  assert.equal(await learn(store, cid, 3), false)
  assert.deepEqual(exchanged(store).wanted('start').cids.map(textOf), lost.slice(0, 1))
  await fetchAll(store, blocks)
  assert.equal((await contentOf(store, cid)).length, 2 * format.fileChunkBytes)
})

test('without room on the disk nothing is fetched, which is reported until there is room', async (t) => {
  const notices: BackgroundNotice[] = []
  let free = 10 * gibibyte
  const background = new BackgroundReporter((notice) => notices.push(notice))
  const store = opened(t, { background, space: () => ({ free, total: 100 * gibibyte }) })
  const { cid, blocks } = blocksOf(noise(1000))
  free = gibibyte / 2
  assert.deepEqual(exchanged(store).wanted('start'), { cids: [], isEnd: true, hasRoom: false })
  assert.deepEqual(notices, [], 'nothing is to be fetched')
  await learn(store, cid)
  assert.deepEqual(exchanged(store).wanted('start'), { cids: [], isEnd: true, hasRoom: false })
  const error = '512 MiB of disk space are free, 1024 MiB are reserved'
  assert.deepEqual(notices, [{ work: 'fetch_files', error, isDisk: false }])
  free = 10 * gibibyte
  store.checkRoom()
  assert.deepEqual(notices.at(-1), { work: 'fetch_files' })
  const [root = new Uint8Array(0)] = exchanged(store).wanted('start').cids
  free = gibibyte / 2
  const bytes = blocks.get(cid) ?? new Uint8Array(0)
  assert.deepEqual(await exchanged(store).receive(root, bytes), { outcome: 'noRoom', newWants: [] })
  store.checkRoom()
  assert.deepEqual(notices.at(-1), { work: 'fetch_files', error, isDisk: false })
  free = 10 * gibibyte
  await fetchAll(store, blocks)
  assert.deepEqual(notices.at(-1), { work: 'fetch_files' })
})
