import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { failure } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { Downloads } from '../../src/files/downloads.ts'
import { FileBlocks } from '../../src/files/file-blocks.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import type { BlockLink } from '../../src/files/thread/shared-blocks.ts'
import { type Block, cidOf, FileBuilder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type BlockNotice, type CalledThread, TransferThrottle } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { noise } from '../support/noise.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

const timeoutMs = 15_000

/** The blocks of an empty store, with timers in virtual time. */
function opened(t: TestContext) {
  const store = new FileStore(join(temporaryFolder(t), 'blocks.db'), systemRuntime, {
    notify: (notice) => blocks.arrived(notice),
  })
  t.after(() => store.close())
  // One call after the other, as in the files thread.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => T | Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  const call = (name: keyof FileStore, args: never[]): Promise<unknown> =>
    inTurn(() => (store[name] as (...args: never[]) => unknown).apply(store, args))
  const thread = { call } as unknown as Pick<CalledThread<FileStore>, 'call' | 'link'>
  const { timers } = virtualRuntime()
  const throttle = new TransferThrottle(
    () => 0,
    () => Promise.resolve(),
  )
  const blocks = new FileBlocks({ thread, timers, timeoutMs: () => timeoutMs })
  return { blocks, timers, store, inTurn, downloads: new Downloads({ thread, blocks, throttle }) }
}

/** A link to a store that records the CIDs, in hexadecimal, that it is asked for. */
interface RecordedLink {
  readonly link: BlockLink
  readonly asked: string[]
  readonly unasked: string[]
}

function linked(store: FileStore, asked: (cid: Uint8Array) => void = () => {}): RecordedLink {
  const recorded: { asked: string[]; unasked: string[] } = { asked: [], unasked: [] }
  const link = store.link((notice: BlockNotice) => {
    if (notice.is === 'wanted' || notice.is === 'added') return
    recorded[notice.is].push(Buffer.from(notice.cid).toString('hex'))
    if (notice.is === 'asked') asked(notice.cid)
  })
  link.setPeers(true)
  return { link, ...recorded }
}

/** Waits until everything that can go on without time has gone on. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

const content = Buffer.from('content')
const block = new Map<string, Uint8Array>()
const keep = ({ cid, bytes }: Block): void =>
  void block.set(Buffer.from(cid.bytes).toString('hex'), Uint8Array.from(bytes))

function fileOf(bytes: Buffer): string {
  const builder = new FileBuilder(keep)
  for (let at = 0; at < bytes.length; at += format.fileChunkBytes)
    builder.add(bytes.subarray(at, at + format.fileChunkBytes))
  return String(builder.finish().cid)
}

test('a block that is on its way is waited for, until it has arrived', async (t) => {
  const { blocks, store } = opened(t)
  const { link, asked, unasked } = linked(store)
  const cid = fileOf(content)
  const waits = [blocks.waitFor(cid), blocks.waitFor(cid)]
  await settled()
  assert.equal(asked.length, 1)
  const bytes = block.get(asked[0] ?? '') ?? new Uint8Array(0)
  const wanted = Buffer.from(asked[0] ?? '', 'hex')
  assert.equal((await link.receive(wanted, Buffer.from('wrong'))).outcome, 'wrong')
  assert.equal((await link.receive(wanted, bytes)).outcome, 'stored')
  assert.deepEqual(await Promise.all(waits), [true, true])
  assert.deepEqual(unasked, [])
  assert.equal(await blocks.waitFor(cid), true, 'it is stored')
  assert.equal(asked.length, 1)
})

test('a download waits for the time in the settings, and then its block is not asked for any more', async (t) => {
  const { blocks, timers, store } = opened(t)
  const { asked, unasked } = linked(store)
  const first = blocks.waitFor(fileOf(content))
  await settled()
  timers.advance(timeoutMs - 1)
  const second = blocks.waitFor(fileOf(content))
  timers.advance(1)
  assert.equal(await first, false)
  await settled()
  assert.deepEqual(unasked, [], 'another download waits')
  timers.advance(timeoutMs - 1)
  assert.equal(await second, false)
  await settled()
  assert.equal(asked.length, 1)
  assert.deepEqual(unasked, asked)
  assert.equal(timers.pending, 0)
})

test('without a link or peers, for a text that is no CID, and beyond the limit, nothing is waited for', async (t) => {
  const { blocks, timers, store } = opened(t)
  const cid = fileOf(content)
  assert.equal(await blocks.waitFor(cid), false)
  const { link, asked } = linked(store)
  link.setPeers(false)
  assert.equal(await blocks.waitFor(cid), false)
  link.setPeers(true)
  assert.equal(await blocks.waitFor('no CID'), false)
  const waits = Array.from({ length: limits.awaitedBlocks }, (_, i) =>
    blocks.waitFor(String(cidOf(Buffer.from(`${i}`)))),
  )
  assert.equal(await blocks.waitFor(cid), false)
  await settled()
  assert.equal(asked.length, limits.awaitedBlocks)
  blocks.close()
  assert.deepEqual(new Set(await Promise.all(waits)), new Set([false]))
  assert.equal(await blocks.waitFor(cid), false)
  assert.equal(timers.pending, 0)
})

test('a new link is asked for the blocks that downloads wait for, and an ended one for none', async (t) => {
  const { blocks, store } = opened(t)
  const before = linked(store)
  const waiting = blocks.waitFor(fileOf(content))
  await settled()
  before.link.ended()
  const after = linked(store)
  assert.deepEqual(after.asked, before.asked)
  const cid = Buffer.from(after.asked[0] ?? '', 'hex')
  assert.equal((await after.link.receive(cid, block.get(after.asked[0] ?? '') ?? content)).outcome, 'stored')
  assert.equal(await waiting, true)
  after.link.ended()
  assert.equal(await blocks.waitFor(String(cidOf(Buffer.from('other')))), false)
  assert.equal(after.asked.length, 1)
})

test('a block that nothing wants and no download waits for any more is not stored', async (t) => {
  const { blocks, timers, store } = opened(t)
  const { link, asked } = linked(store)
  const waiting = blocks.waitFor(fileOf(content))
  await settled()
  timers.advance(timeoutMs)
  assert.equal(await waiting, false)
  await settled()
  const cid = Buffer.from(asked[0] ?? '', 'hex')
  assert.equal((await link.receive(cid, block.get(asked[0] ?? '') ?? content)).outcome, 'unwanted')
  assert.equal(link.read(cid), undefined)
})

test('a download fetches the blocks that are missing, one after the other', async (t) => {
  const { downloads, timers, store, inTurn } = opened(t)
  const large = noise(3 * format.fileChunkBytes)
  const cid = fileOf(large)
  const { link, asked } = linked(store, (wanted) => {
    const bytes = block.get(Buffer.from(wanted).toString('hex')) ?? new Uint8Array(0)
    void inTurn(() => link.receive(wanted, bytes))
  })
  const found = await downloads.find(cid, [])
  assert.equal(found.content?.size, large.length)
  const pieces: Uint8Array[] = []
  for await (const piece of downloads.read(cid, 0, large.length)) pieces.push(piece)
  assert.deepEqual(Buffer.concat(pieces), large)
  assert.equal(asked.length, 4)
  assert.equal(timers.pending, 0)
})

test('a download of something that does not arrive is not found, or ends with an error', async (t) => {
  const { downloads, store, inTurn } = opened(t)
  const large = noise(2 * format.fileChunkBytes)
  const cid = fileOf(large)
  const root = [...block.keys()].at(-1) ?? ''
  assert.deepEqual(await downloads.find(cid, []), { by: 'cid', content: undefined, missing: cid })
  const { link } = linked(store, (wanted) => {
    void inTurn(() => link.receive(wanted, block.get(root) ?? new Uint8Array(0)))
  })
  assert.equal((await downloads.find(cid, [])).content?.size, large.length)
  link.setPeers(false)
  const { code } = failure('ERR_NOT_FOUND', {})
  await assert.rejects(
    async () => {
      for await (const piece of downloads.read(cid, 0, large.length)) assert.fail(`${piece.length} bytes`)
    },
    { code },
  )
})
