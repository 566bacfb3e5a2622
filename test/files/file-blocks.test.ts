import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { failure } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { Downloads } from '../../src/files/downloads.ts'
import { type BlockSource, FileBlocks } from '../../src/files/file-blocks.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { TransferThrottle } from '../../src/files/transfer-throttle.ts'
import { type Block, cidOf, FileBuilder } from '../../src/files/unixfs/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { CalledThread } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { noise } from '../support/noise.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

const timeoutMs = 15_000

/** The blocks of an empty store, with timers in virtual time. */
function opened(t: TestContext) {
  const store = new FileStore(join(temporaryFolder(t), 'blocks.db'), systemRuntime)
  t.after(() => store.close())
  const call = async (name: keyof FileStore, args: never[]): Promise<unknown> =>
    await (store[name] as (...args: never[]) => unknown).apply(store, args)
  const thread = { call } as unknown as Pick<CalledThread<FileStore>, 'call'>
  const { timers } = virtualRuntime()
  const throttle = new TransferThrottle(
    () => 0,
    () => Promise.resolve(),
  )
  const blocks = new FileBlocks({ thread, timers, throttle, timeoutMs: () => timeoutMs })
  return { blocks, timers, store, downloads: new Downloads({ thread, blocks, throttle }) }
}

/** A source that records what it is asked for. */
function recorded(hasPeers = true): BlockSource & { readonly asked: string[]; readonly unasked: string[] } {
  const [asked, unasked]: [string[], string[]] = [[], []]
  return {
    asked,
    unasked,
    ask: (cid) => {
      asked.push(Buffer.from(cid).toString('hex'))
      return hasPeers
    },
    unask: (cid) => void unasked.push(Buffer.from(cid).toString('hex')),
  }
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
  const { blocks } = opened(t)
  const source = recorded()
  blocks.setSource(source)
  const cid = fileOf(content)
  const waits = [blocks.waitFor(cid), blocks.waitFor(cid)]
  assert.equal(source.asked.length, 1)
  const bytes = block.get(source.asked[0] ?? '') ?? new Uint8Array(0)
  const asked = Buffer.from(source.asked[0] ?? '', 'hex')
  assert.equal((await blocks.receive(asked, Buffer.from('wrong'))).outcome, 'wrong')
  assert.equal((await blocks.receive(asked, bytes)).outcome, 'stored')
  assert.deepEqual(await Promise.all(waits), [true, true])
  assert.deepEqual(source.unasked, [])
})

test('a download waits for the time in the settings, and then its block is not asked for any more', async (t) => {
  const { blocks, timers } = opened(t)
  const source = recorded()
  blocks.setSource(source)
  const first = blocks.waitFor(fileOf(content))
  timers.advance(timeoutMs - 1)
  const second = blocks.waitFor(fileOf(content))
  timers.advance(1)
  assert.equal(await first, false)
  assert.deepEqual(source.unasked, [], 'another download waits')
  timers.advance(timeoutMs - 1)
  assert.equal(await second, false)
  assert.deepEqual(source.unasked, source.asked)
  assert.equal(timers.pending, 0)
})

test('without peers, for a text that is no CID, and beyond the limit, nothing is waited for', async (t) => {
  const { blocks, timers } = opened(t)
  const cid = fileOf(content)
  assert.equal(await blocks.waitFor(cid), false)
  blocks.setSource(recorded(false))
  assert.equal(await blocks.waitFor(cid), false)
  const source = recorded()
  blocks.setSource(source)
  assert.equal(await blocks.waitFor('no CID'), false)
  const waits = Array.from({ length: limits.awaitedBlocks }, (_, i) =>
    blocks.waitFor(String(cidOf(Buffer.from(`${i}`)))),
  )
  assert.equal(await blocks.waitFor(cid), false)
  assert.equal(source.asked.length, limits.awaitedBlocks)
  blocks.close()
  assert.deepEqual(new Set(await Promise.all(waits)), new Set([false]))
  assert.equal(await blocks.waitFor(cid), false)
  assert.equal(timers.pending, 0)
})

test('listeners are notified of new wants until they are removed', (t) => {
  const { blocks } = opened(t)
  let count = 0
  const remove = blocks.onWanted(() => count++)
  blocks.notify(false)
  assert.equal(count, 0)
  blocks.notify(true)
  assert.equal(count, 1)
  remove()
  blocks.notify(true)
  assert.equal(count, 1)
})

test('a download fetches the blocks that are missing, one after the other', async (t) => {
  const { blocks, downloads, timers } = opened(t)
  const large = noise(3 * format.fileChunkBytes)
  const cid = fileOf(large)
  const asked: string[] = []
  blocks.setSource({
    ask: (wanted) => {
      const key = Buffer.from(wanted).toString('hex')
      asked.push(key)
      void blocks.receive(wanted, block.get(key) ?? new Uint8Array(0))
      return true
    },
    unask: () => {},
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
  const { blocks, downloads } = opened(t)
  const large = noise(2 * format.fileChunkBytes)
  const cid = fileOf(large)
  const root = [...block.keys()].at(-1) ?? ''
  assert.deepEqual(await downloads.find(cid, []), { by: 'cid', content: undefined, missing: cid })
  blocks.setSource({
    ask: (wanted) => {
      if (Buffer.from(wanted).toString('hex') !== root) return false
      void blocks.receive(wanted, block.get(root) ?? new Uint8Array(0))
      return true
    },
    unask: () => {},
  })
  assert.equal((await downloads.find(cid, [])).content?.size, large.length)
  const { code } = failure('ERR_NOT_FOUND', {})
  await assert.rejects(
    async () => {
      for await (const piece of downloads.read(cid, 0, large.length)) assert.fail(`${piece.length} bytes`)
    },
    { code },
  )
})
