import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { format } from '../../src/base/format.ts'
import { type Block, FileBuilder } from '../../src/files/unixfs/index.ts'
import { LinkedBlocks } from '../../src/store/linked/index.ts'
import { FileNode } from '../support/file-node.ts'
import type { SentBlock } from '../support/linked-blocks-thread.ts'
import { noise } from '../support/noise.ts'
import { until } from '../support/process.ts'

const module = new URL('../support/linked-blocks-thread.ts', import.meta.url)

/** The blocks of a file, its root first. */
function blocksOf(content: Buffer): { cid: string; blocks: SentBlock[] } {
  const blocks: SentBlock[] = []
  const builder = new FileBuilder(
    ({ cid, bytes }: Block) => void blocks.push({ cid: cid.bytes, bytes: Uint8Array.from(bytes) }),
  )
  for (let at = 0; at < content.length; at += format.fileChunkBytes)
    builder.add(content.subarray(at, at + format.fileChunkBytes))
  return { cid: String(builder.finish().cid), blocks: blocks.reverse() }
}

/** A thread with a link to the blocks of a node. */
async function linkedThread(t: TestContext, node: FileNode): Promise<{ worker: Worker; outcomes: string[] }> {
  const port = await node.files.blocks.link()
  const worker = new Worker(module, { workerData: { port }, transferList: [port] })
  const outcomes: string[] = []
  worker.on('message', (outcome: string) => outcomes.push(outcome))
  t.after(() => worker.terminate())
  return { worker, outcomes }
}

test('the files go on when a linked thread dies while it receives, and another link receives the rest', async (t) => {
  const node = await FileNode.open(t, 'node')
  const content = noise(30 * format.fileChunkBytes)
  const { cid, blocks } = blocksOf(content)
  await node.learn(cid)
  await until(
    async () => (await node.files.unnamedUploads()).length === 1 || undefined,
    () => 'the upload is not known',
  )
  const own = await node.upload(noise(1000, 1))
  for (const count of [1, 10]) {
    const { worker, outcomes } = await linkedThread(t, node)
    for (const block of blocks) worker.postMessage(block)
    await until(
      () => outcomes.length >= count || undefined,
      () => `${outcomes.length} blocks were received`,
    )
    await worker.terminate()
    assert.deepEqual(await node.read(own), noise(1000, 1))
  }
  const { worker, outcomes } = await linkedThread(t, node)
  for (const block of blocks) worker.postMessage(block)
  await until(
    () => outcomes.length === blocks.length || undefined,
    () => outcomes.join(),
  )
  assert.deepEqual(new Set(outcomes), new Set(['stored']))
  assert.deepEqual(await node.read(cid), content)
})

test('calls of a link are rejected when the files are closed, and afterwards', async (t) => {
  const node = await FileNode.open(t, 'node')
  let hasEnded = false
  const blocks = new LinkedBlocks(await node.files.blocks.link(), {
    onNotice: () => {},
    onEnd: () => {
      hasEnded = true
    },
  })
  t.after(() => blocks.close())
  assert.deepEqual(await blocks.wanted('start'), { cids: [], isEnd: true, hasRoom: true })
  const { blocks: sent } = blocksOf(noise(1000))
  const [{ cid, bytes } = assert.fail()] = sent
  assert.deepEqual(await blocks.receive(cid, bytes), { outcome: 'unwanted', newWants: [] })
  assert.ok(cid.length > 0 && bytes.length > 0, 'the caller keeps its bytes')
  await node.files.close()
  await until(
    () => hasEnded || undefined,
    () => 'the link is open',
  )
  await assert.rejects(blocks.wanted('start'), /closed/)
  blocks.setPeers(true)
})
