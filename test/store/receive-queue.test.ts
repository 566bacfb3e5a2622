import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import type { ReceivedTogether } from '../../src/replication/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import { BackgroundReporter } from '../../src/store/disk/background.ts'
import { DiskReporter } from '../../src/store/disk/disk-notice.ts'
import { buildSeal, ChunkVerifier, LogWriter, type SealPlan, type VerifiedChunk } from '../../src/store/sqlite/index.ts'
import type { ToSealer } from '../../src/store/threads/sealer/sealer-thread.ts'
import { Gate } from '../../src/store/threads/thread-messages.ts'
import { ReceiveQueue } from '../../src/store/threads/writer/receive-queue.ts'
import { SealScheduler } from '../../src/store/threads/writer/seal-scheduler.ts'
import type { Caller, CallResult } from '../../src/store/threads/writer/writer-messages.ts'
import { temporaryFolder } from '../support/folder.ts'
import { memoryStore } from './acceptance/sources.ts'
import { chunksOf, numbered, range, requestOf } from './acceptance/support.ts'

function openWriter(t: TestContext): LogWriter {
  const file = join(temporaryFolder(t), 'log.db')
  const key = KeyPair.generate(systemRandom)
  const writer = new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: nowMicros, random: systemRandom })
  t.after(() => writer.close())
  return writer
}

async function verifiedChunks(count: number, payload?: string): Promise<VerifiedChunk[]> {
  const source = memoryStore()
  for (const i of range(0, count))
    await source.append(requestOf(payload === undefined ? numbered(1024, 1024 * i) : [{ payload }]))
  const verifier = new ChunkVerifier('live')
  return (await chunksOf(source)).map((bytes) => verifier.check({ bytes }) as VerifiedChunk)
}

/** A thread that sends chunks, with the replies that it has got. */
class Sender implements Caller {
  readonly results: CallResult[] = []

  reply(results: readonly CallResult[]): void {
    // The rows are checked by the acceptance suite.
    for (const { result, ...others } of results)
      this.results.push(result === undefined ? others : { ...others, result: (result as ReceivedTogether).answers })
  }
}

function queueOf(writer: LogWriter): { queue: ReceiveQueue; sender: Sender; results: CallResult[] } {
  const sender = new Sender()
  return { queue: new ReceiveQueue({ writer, disk: new DiskReporter() }), sender, results: sender.results }
}

test('small chunks are stored in one commit, large ones one by one, with appends in between', async (t) => {
  const writer = openWriter(t)
  const large = JSON.stringify('x'.repeat(tuning.receiveSliceBytes))
  const [small, big] = [await verifiedChunks(2), await verifiedChunks(3, large)]
  const { queue, sender, results } = queueOf(writer)
  queue.add(sender, 1, small, undefined)
  queue.add(sender, 2, big, undefined)
  queue.step()()
  assert.deepEqual(results, [{ id: 1, result: [1024, 2048].map((count) => ({ state: 'stored', count })) }])
  const steps: number[] = []
  while (!queue.isEmpty) {
    queue.step()()
    writer.append([requestOf([{}])])
    steps.push(writer.counts.count(1))
  }
  assert.deepEqual(steps, [1, 2, 3])
  assert.equal(writer.counts.count(2), 3)
  assert.deepEqual(results[1], { id: 2, result: [1, 2, 3].map((count) => ({ state: 'stored', count })) })
})

test('a commit that fails is the answer to its own call only', async (t) => {
  const writer = openWriter(t)
  const { queue, sender, results } = queueOf(writer)
  const [chunk] = await verifiedChunks(1)
  queue.add(sender, 1, [{ ...(chunk as VerifiedChunk), bytes: Buffer.from('no chunk') }], undefined)
  queue.add(sender, 2, [chunk as VerifiedChunk], undefined)
  queue.drain()
  assert.equal(results[0]?.error?.kind, 'MalformedBytes')
  assert.deepEqual(results[1], { id: 2, result: [{ state: 'stored', count: 1024 }] })
})

test('received chunks wait for sealing before local events have to', async (t) => {
  const writer = openWriter(t)
  const { port1, port2 } = new MessageChannel()
  t.after(() => port2.close())
  const options = { sealer: port1, sealerEnded: new Gate(), timers: systemTimers, disk: new DiskReporter() }
  const seals = new SealScheduler({ ...options, writer, background: new BackgroundReporter(), finished: () => {} })
  t.after(() => seals.close())
  const chunks = await verifiedChunks(tuning.maxUnsealedChunks / 2 + 1)
  const { queue, sender } = queueOf(writer)
  for (const [id, chunk] of chunks.slice(0, -1).entries()) queue.add(sender, id + 1, [chunk], undefined)
  queue.drain()
  const task = new Promise<SealPlan>((resolve) =>
    port2.once('message', (message: ToSealer) => resolve((message as { seal: SealPlan }).seal)),
  )
  seals.planAfterAppend()
  assert.equal(seals.isBehindForReceived, false)
  queue.add(sender, 100, chunks.slice(-1), undefined)
  queue.drain()
  assert.equal(seals.isBehindForReceived, true)
  assert.equal(writer.upkeep.isSealBacklogFull, false)
  port2.postMessage({ sealed: buildSeal(writer.database, await task) })
  seals.applyFinished()
  assert.equal(seals.isBehindForReceived, false)
})

test('what a sender has sent is dropped when it has ended, and the chunks of others are stored', async (t) => {
  const writer = openWriter(t)
  const { queue, sender, results } = queueOf(writer)
  const other = new Sender()
  const large = JSON.stringify('x'.repeat(tuning.receiveSliceBytes))
  const [first, second] = [await verifiedChunks(3, large), await verifiedChunks(1)]
  queue.add(sender, 1, first, undefined)
  queue.add(other, 2, second, undefined)
  queue.step()()
  queue.drop(sender)
  queue.drain()
  assert.deepEqual(results, [])
  assert.deepEqual(other.results, [{ id: 2, result: [{ state: 'stored', count: 1024 }] }])
  assert.deepEqual([writer.counts.count(0), writer.counts.count(1)], [1, 1024])
})
