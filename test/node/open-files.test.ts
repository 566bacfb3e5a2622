import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FileBuilder } from '../../src/files/unixfs/index.ts'
import { BackgroundErrors } from '../../src/node/background-errors.ts'
import { BlockMetrics } from '../../src/node/block-metrics.ts'
import { DiskErrors } from '../../src/node/disk-errors.ts'
import { openFiles } from '../../src/node/open-files.ts'
import { ThreadFailures } from '../../src/node/thread-failures.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings } from '../../src/settings/index.ts'
import { makeFolders, NodeDatabase, topicsFolder } from '../../src/store/index.ts'
import { LinkedBlocks } from '../../src/store/linked/index.ts'
import { key, silent } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { openEvents } from '../support/open-events.ts'
import { until } from '../support/process.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

/** The files of a topic with the settings of a node, and timers in virtual time. */
async function opened(t: TestContext) {
  const folder = temporaryFolder(t)
  makeFolders(topicsFolder(folder))
  const database = NodeDatabase.open(join(folder, 'node.db'))
  t.after(() => database.close())
  const settings = await Settings.open(database.settings, systemRuntime.clock)
  const events = await openEvents(join(folder, 'log.db'))
  const runtime = virtualRuntime()
  const reported = { ...runtime, health: new Health([]), metrics: new Metrics(), log: silent }
  const { files, apply } = await openFiles('t', events, {
    ...reported,
    clock: systemRuntime.clock,
    folder,
    key,
    settings,
    blockMetrics: new BlockMetrics(reported.metrics, systemRuntime.clock),
    disk: new DiskErrors(reported),
    background: new BackgroundErrors(reported),
    threads: new ThreadFailures(reported),
    onDamage: ({ text }) => assert.fail(text),
  })
  settings.onChange(apply)
  t.after(async () => {
    await files.close()
    await events.close()
  })
  const set = (name: string, value: number) => settings.set(['swarm', name], value, 'test')
  return { files, set, timers: runtime.timers }
}

const app = 'com.example.test'

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

test('every `blockGcInterval` blocks beyond `blockCacheCount` and `blockCacheSize` are evicted', async (t) => {
  const { files, set, timers } = await opened(t)
  const collect = t.mock.method(files, 'collect')
  /** Lets time pass until the next garbage collection. Returns whether the file is still there. */
  const isKept = async (cid: string, seconds: number): Promise<boolean> => {
    const before = collect.mock.callCount()
    timers.advance(seconds * 1000 - 1)
    assert.equal(collect.mock.callCount(), before)
    timers.advance(1)
    assert.equal(collect.mock.callCount(), before + 1)
    await collect.mock.calls.at(-1)?.result
    return (await files.find(cid, [])).content !== undefined
  }
  const cached = async (text: string): Promise<string> => {
    const cid = await files.upload(app, (target) => target.add('file', contentOf(text)))
    await files.remove(app, cid)
    return cid
  }
  const one = await cached('one')
  assert.equal(await isKept(one, 300), true)
  await set('blockGcInterval', 60)
  await set('blockCacheCount', 0)
  assert.equal(await isKept(one, 60), false)
  await set('blockCacheCount', 10)
  const two = await cached('two')
  assert.equal(await isKept(two, 60), true)
  await set('blockCacheSize', 0)
  assert.equal(await isKept(two, 60), false)
})

test('a download of a block that is not there waits for `bitswapTimeout`', async (t) => {
  const { files, set, timers } = await opened(t)
  const builder = new FileBuilder(() => {})
  builder.add(Buffer.from('elsewhere'))
  const cid = String(builder.finish().cid)
  const asked: string[] = []
  const link = new LinkedBlocks(await files.blocks.link(), {
    onNotice: (notice) => asked.push(notice.is),
    onEnd: () => {},
  })
  t.after(() => link.close())
  link.setPeers(true)
  for (const seconds of [15, 3]) {
    await set('bitswapTimeout', seconds)
    let isFound: boolean | undefined
    const finding = files.find(cid, []).then(({ content }) => {
      isFound = content !== undefined
    })
    await until(
      () => asked.find((kind) => kind === 'asked'),
      () => 'the block is not asked for',
    )
    timers.advance(seconds * 1000 - 1)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isFound, undefined)
    timers.advance(1)
    await finding
    assert.equal(isFound, false)
    await until(
      () => asked.find((kind) => kind === 'unasked'),
      () => 'the block is still asked for',
    )
    asked.length = 0
  }
})
