import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import { parseCid } from '../../../src/files/index.ts'
import { cidOf } from '../../../src/files/unixfs/index.ts'
import { MalformedBytes } from '../../../src/protocol/index.ts'
import { encodeExchangeMessage } from '../../../src/sync/index.ts'
import { FileNode } from '../../support/file-node.ts'
import { noise } from '../../support/noise.ts'
import { until } from '../../support/process.ts'

const bytesOf = (cid: string): Uint8Array => parseCid(cid)?.bytes ?? assert.fail(cid)

function open(t: TestContext, names: readonly string[], timeoutMs?: number): Promise<FileNode[]> {
  return Promise.all(names.map((name) => FileNode.open(t, name, timeoutMs)))
}

async function pair(t: TestContext, timeoutMs?: number): Promise<[FileNode, FileNode]> {
  const [first = assert.fail(), second = assert.fail()] = await open(t, ['first', 'second'], timeoutMs)
  return [first, second]
}

/** Waits until a node has sent a number of blocks. */
async function sentBlocks(node: FileNode, count: number): Promise<void> {
  await until(
    () => (node.sent.block ?? 0) >= count || undefined,
    () => `${node.name} has sent ${JSON.stringify(node.sent)}`,
  )
}

/** Waits until a file can be downloaded. */
async function untilStored(node: FileNode, cid: string, content: Buffer): Promise<void> {
  await until(
    async () => (await node.read(cid))?.equals(content) || undefined,
    () => `${cid} is not on ${node.name}`,
  )
}

test('a node fetches uploads that it learns about, and other content when it is downloaded', async (t) => {
  const [first, second] = await pair(t)
  const [pinned, other] = [noise(3_000_000), noise(1_000_000, 1)]
  const [cid, otherCid] = [await first.upload(pinned), await first.upload(other)]
  assert.equal(await second.read(otherCid), undefined)
  first.connect(second)
  await second.learn(cid)
  // Twelve chunks and their parent.
  await sentBlocks(first, 13)
  assert.deepEqual(await second.read(cid), pinned)
  assert.equal(first.sent.block, 13)
  assert.deepEqual(await second.read(otherCid), other)
  assert.equal(first.sent.block, 18)
  assert.ok(first.maxUnsentBytes <= limits.servedBlockBytesPerPeer + 1024, `${first.maxUnsentBytes}`)
  assert.deepEqual([...first.failures, ...second.failures], [])
})

test('a file reaches a node over another one, and stays when its uploader is gone', async (t) => {
  const [first = assert.fail(), middle = assert.fail(), last = assert.fail()] = await open(t, ['a', 'b', 'c'])
  const content = noise(1_500_000)
  const cid = await first.upload(content)
  await last.learn(cid)
  await middle.learn(cid)
  middle.connect(last)
  first.connect(middle)
  await sentBlocks(middle, 7)
  await untilStored(last, cid, content)
  first.disconnect(middle)
  middle.disconnect(last)
  assert.deepEqual(await middle.read(cid), content)
  assert.deepEqual(await last.read(cid), content)
})

test('a peer that asked in vain is told at once when an upload stores the content', async (t) => {
  const [first = assert.fail(), second = assert.fail(), other = assert.fail()] = await open(t, ['a', 'b', 'c'])
  const content = noise(1000)
  const cid = await other.upload(content)
  first.connect(second)
  await second.learn(cid)
  await untilNotHere(first, async () => {})
  // Without it the peer would ask again after half a minute.
  assert.equal(await first.upload(content), cid)
  await untilStored(second, cid, content)
  assert.equal(first.sent.haveBlocks, 1)
})

test('named content is fetched before newer uploads', async (t) => {
  const [first, second] = await pair(t)
  const files = await Promise.all([1, 2, 3].map((seed) => first.upload(noise(1000, seed))))
  const [named = '', older = '', newer = ''] = files
  await second.learn(named)
  await second.publish(['ans'], { Add: { name: 'app', cid: named, public: true, level: 'Prefetch' } })
  await second.learn(older)
  await second.learn(newer)
  await until(
    async () => (await second.files.unnamedUploads()).length === 2 || undefined,
    () => 'the uploads are not known',
  )
  const order: string[] = []
  second.tamper = (message, bytes) => {
    if (message.is === 'wantBlocks') order.push(...message.cids.map((cid) => Buffer.from(cid).toString('hex')))
    return bytes
  }
  first.connect(second)
  await sentBlocks(first, 3)
  assert.deepEqual(
    order,
    [named, newer, older].map((cid) => Buffer.from(bytesOf(cid)).toString('hex')),
  )
})

test('a standing query fetches the content that it selects from peers', async (t) => {
  const [first, second] = await pair(t)
  const [before, after] = [await first.upload(noise(400_000)), await first.upload(noise(400_000, 1))]
  first.connect(second)
  await second.publish(['photo'], before)
  const query = "FROM 'photo' SELECT _"
  await second.files.prefetch('com.example.test', query, { secs: 3600, nanos: 0 })
  await sentBlocks(first, 3)
  await second.publish(['photo'], after)
  await sentBlocks(first, 6)
  first.disconnect(second)
  await untilStored(second, before, noise(400_000))
  await untilStored(second, after, noise(400_000, 1))
})

test('a peer that sends wrong bytes is closed, and the block comes from another one', async (t) => {
  const [liar = assert.fail(), honest = assert.fail(), reader = assert.fail()] = await open(t, ['l', 'h', 'r'])
  const content = noise(600_000)
  const cid = await liar.upload(content)
  assert.equal(await honest.upload(content), cid)
  liar.tamper = (message, bytes) =>
    message.is === 'block'
      ? encodeExchangeMessage({ ...message, bytes: Buffer.concat([message.bytes, Buffer.of(0)]) })
      : bytes
  liar.connect(reader)
  await reader.learn(cid)
  await until(
    () => reader.closed.length > 0 || undefined,
    () => 'the liar is still connected',
  )
  assert.deepEqual(reader.closed, [{ peer: 'l', reason: 'badBlock' }])
  assert.equal(await reader.read(cid), undefined)
  honest.connect(reader)
  await untilStored(reader, cid, content)
})

test('blocks that were not asked for and answers with another CID are not stored', async (t) => {
  const [first, second] = await pair(t, 100)
  const bytes = Buffer.from('never asked for')
  const cid = cidOf(bytes)
  first.connect(second)
  first.sendRaw(second, encodeExchangeMessage({ is: 'block', cid: cid.bytes, bytes }))
  first.sendRaw(second, encodeExchangeMessage({ is: 'haveBlocks', cids: [cid.bytes] }))
  first.sendRaw(second, encodeExchangeMessage({ is: 'blocksNotHere', cids: [cid.bytes] }))
  assert.equal(await second.read(String(cid)), undefined)
  assert.equal(second.replicator.inProgress, 0)
  assert.throws(() => first.sendRaw(second, Buffer.of(39, 1)), MalformedBytes)
  assert.throws(() => first.sendRaw(second, Buffer.alloc(limits.exchangeMessageBytes + 1, 32)), MalformedBytes)
})

test('a peer with too many unanswered requests is closed', async (t) => {
  const [first, second] = await pair(t)
  first.connect(second)
  const missing = Array.from({ length: limits.blockRequestsServed + 40 }, (_, i) => cidOf(Buffer.from(`${i}`)).bytes)
  first.sendRaw(second, encodeExchangeMessage({ is: 'wantBlocks', cids: missing }))
  assert.deepEqual(second.closed, [{ peer: 'first', reason: 'tooManyBlockRequests' }])
})

test('a download of what a silent peer was asked for fails in time, and comes from another peer later', async (t) => {
  const [silent = assert.fail(), other = assert.fail(), reader = assert.fail()] = await open(t, ['s', 'o', 'r'], 300)
  const content = noise(300_000)
  const cid = await silent.upload(content)
  silent.tamper = () => undefined
  silent.connect(reader)
  // The files thread asks peers from the moment on at which it knows that there are any.
  await until(
    async () => {
      assert.equal(await reader.read(cid), undefined)
      return (reader.sent.wantBlocks ?? 0) > 0 || undefined
    },
    () => 'the silent peer was not asked',
  )
  assert.equal(await other.upload(content), cid)
  other.connect(reader)
  await untilStored(reader, cid, content)
})

test('the exchange goes on with a new link after its thread was restarted', async (t) => {
  const [first, second] = await pair(t)
  const content = noise(40 * format.fileChunkBytes)
  const cid = await first.upload(content)
  first.connect(second)
  await second.learn(cid)
  for (const count of [3, 10, 20]) {
    await sentBlocks(first, count)
    await second.link()
    await first.link()
  }
  await untilStored(second, cid, content)
  assert.deepEqual([...first.closed, ...second.closed], [])
})

test('while there is no link to the blocks, peers get no answer with a block and nothing is fetched', async (t) => {
  const [first, second] = await pair(t, 300)
  const cid = await first.upload(noise(1000))
  first.replicator.setBlocks(undefined)
  first.connect(second)
  await untilNotHere(first, () => second.read(cid))
  assert.equal(first.sent.block ?? 0, 0)
  await first.link()
  first.disconnect(second)
  first.connect(second)
  await untilStored(second, cid, noise(1000))
})

async function untilNotHere(node: FileNode, ask: () => Promise<unknown>): Promise<void> {
  await until(
    async () => {
      await ask()
      return (node.sent.blocksNotHere ?? 0) > 0 || undefined
    },
    () => JSON.stringify(node.sent),
  )
}
