import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { Events } from '../../src/events/index.ts'
import { Files } from '../../src/files/index.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { BackgroundErrors } from '../../src/node/background-errors.ts'
import { BlockMetrics } from '../../src/node/block-metrics.ts'
import { DiskErrors } from '../../src/node/disk-errors.ts'
import { EventMetrics } from '../../src/node/event-metrics.ts'
import { ThreadFailures } from '../../src/node/thread-failures.ts'
import { Topic } from '../../src/node/topic.ts'
import type { TopicParts } from '../../src/node/topic-parts.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings } from '../../src/settings/index.ts'
import { NodeDatabase, ThreadedBlobs } from '../../src/store/index.ts'
import { key } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'

async function newParts(t: TestContext): Promise<{ parts: TopicParts; settings: Settings; logged: string[] }> {
  const folder = temporaryFolder(t)
  const database = NodeDatabase.open(join(folder, 'node.db'))
  t.after(() => database.close())
  const settings = await Settings.open(database.settings, systemRuntime.clock)
  const reported = { ...systemRuntime, health: new Health([]), metrics: new Metrics() }
  const logged: string[] = []
  const output = { write: (line: string) => void logged.push(line), flush: async () => {} }
  const lines = logOutput(textLine(false), output, systemRuntime.clock)
  const log = new Logger(lines, 'node')
  const parts: TopicParts = {
    ...reported,
    folder,
    replicates: false,
    key,
    settings,
    log,
    output: lines,
    eventMetrics: new EventMetrics(reported.metrics, systemRuntime.clock),
    blockMetrics: new BlockMetrics(reported.metrics, systemRuntime.clock),
    account: MemoryAccount.create(64 * 1024 * 1024),
    disk: new DiskErrors({ ...reported, log }),
    background: new BackgroundErrors({ ...reported, log }),
    threads: new ThreadFailures({ ...reported, log }),
    onDamage: ({ text }) => assert.fail(text),
    failed: (error) => assert.fail(error),
  }
  return { parts, settings, logged }
}

/** The parts that a topic has closed, in order. */
function closedParts(t: TestContext): string[] {
  const closed: string[] = []
  const watch = (name: string, of: { close(): Promise<void> }): void => {
    const { close } = of
    t.mock.method(of, 'close', function (this: unknown) {
      closed.push(name)
      return close.call(this)
    })
  }
  watch('events', Events.prototype)
  watch('files', Files.prototype)
  watch('blobs', ThreadedBlobs.prototype)
  return closed
}

test('a topic closes its files before its events, which they publish', async (t) => {
  const closed = closedParts(t)
  const { parts } = await newParts(t)
  await (await Topic.open('t', parts)).close()
  assert.deepEqual(closed, ['files', 'events', 'blobs'])
})

test('when a part of a topic cannot be opened, those that are open are closed', async (t) => {
  const closed = closedParts(t)
  const { parts, settings } = await newParts(t)
  const collect = t.mock.method(Files.prototype, 'collectEvery', () => assert.fail('no collection'))
  await assert.rejects(Topic.open('t', parts), /no collection/)
  assert.deepEqual(closed.splice(0), ['files', 'events'])
  collect.mock.restore()
  const subscribe = t.mock.method(settings, 'onChange')
  // The first subscription is that of the maintenance.
  subscribe.mock.mockImplementationOnce(() => assert.fail('no subscription'), 1)
  await assert.rejects(Topic.open('t', parts), /no subscription/)
  assert.deepEqual(closed, ['files', 'events', 'blobs'])
})

test('a part that cannot be closed after another one failed is logged, and the others are closed', async (t) => {
  const closed = closedParts(t)
  const { parts, settings, logged } = await newParts(t)
  const { close } = Files.prototype
  t.mock.method(Files.prototype, 'close', async function (this: Files) {
    await close.call(this)
    throw new Error('the files cannot be closed')
  })
  t.mock.method(settings, 'onChange', () => assert.fail('no subscription'))
  await assert.rejects(Topic.open('t', parts), /no subscription/)
  assert.deepEqual(closed, ['files', 'events', 'blobs'])
  assert.ok(logged.some((line) => line.includes('could not be closed: the files cannot be closed')))
})
