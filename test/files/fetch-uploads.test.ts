import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Events, readerModule } from '../../src/events/index.ts'
import { Files } from '../../src/files/index.ts'
import { nodeAppId } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { sleep } from '../../src/runtime/timers.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { key, nodeId, silent } from '../support/api.ts'
import { BlockHost } from '../support/block-host.ts'
import { temporaryFolder } from '../support/folder.ts'
import { noise } from '../support/noise.ts'

const app = 'com.example.test'

interface Node {
  readonly files: Files
  readonly host: BlockHost
  upload(content: Buffer): Promise<string>
  /** Publishes the event of an upload of another node, as replication would bring it. */
  learn(cid: string): Promise<void>
  /** Downloads a file. */
  read(cid: string): Promise<Buffer | undefined>
}

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

async function open(t: TestContext, name: string): Promise<Node> {
  const folder = temporaryFolder(t)
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(folder, 'log.db'),
    topic: 't',
    kind: 'live',
    key,
    readerModule,
  })
  const startReading: SqliteEventStore['start'] = (job, request) => store.start(job, request)
  const events = await Events.open(store, { ...systemRuntime, node: nodeId, routes: [], log: silent, startReading })
  const file = join(folder, 'blocks.db')
  const blockTimeoutMs = () => 60_000
  const files = new Files({ ...systemRuntime, file, node: nodeId, events, log: silent, blockTimeoutMs })
  const host = new BlockHost(name, files.blocks, (error) => {
    throw error
  })
  t.after(async () => {
    host.close()
    await files.close()
    await events.close()
  })
  const read = async (cid: string): Promise<Buffer | undefined> => {
    const { content } = await files.find(cid, [])
    if (content?.type !== 'file') return undefined
    const read: Uint8Array[] = []
    for await (const piece of files.read(cid, 0, content.size)) read.push(piece)
    return Buffer.concat(read)
  }
  return {
    files,
    host,
    read,
    upload: (content) => files.upload(app, (target) => target.add('file', pieces(content))),
    learn: async (cid) => {
      const payload = { type: 'fileAdded', name: 'file', cid, size: 1, mime: 'text/plain', app_id: app }
      const body = Buffer.from(JSON.stringify({ data: [{ tags: ['files', 'files:created'], payload }] }))
      await events.publish(nodeAppId, body)
    },
  }
}

function connect(a: Node, b: Node): void {
  a.host.connect(b.host)
  b.host.connect(a.host)
}

/** Resolved when a node has sent a number of blocks. */
async function sent({ host }: Node, blocks: number): Promise<void> {
  while ((host.sent.block ?? 0) < blocks) await sleep(systemRuntime.timers, 5)
}

test('a node fetches uploads that it learns about, and other content when it is downloaded', async (t) => {
  const [first, second] = [await open(t, 'first'), await open(t, 'second')]
  const [pinned, other] = [noise(3_000_000), noise(1_000_000, 1)]
  const [cid, otherCid] = [await first.upload(pinned), await first.upload(other)]
  assert.equal(await second.read(otherCid), undefined)
  connect(first, second)
  await second.learn(cid)
  // Twelve chunks and their parent.
  await sent(first, 13)
  assert.deepEqual(await second.read(cid), pinned)
  assert.equal(first.host.sent.block, 13)
  assert.deepEqual(await second.read(otherCid), other)
  assert.equal(first.host.sent.block, 18)
})
