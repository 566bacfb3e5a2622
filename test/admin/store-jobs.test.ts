import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { anyTarget, targetBelow } from '../../src/admin/backup-target.ts'
import { controlSocketOf } from '../../src/admin/control-path.ts'
import { StoreJobs } from '../../src/admin/index.ts'
import type { Files } from '../../src/files/index.ts'
import { KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type NodeDatabase, topicFiles, verifyFolder } from '../../src/store/index.ts'
import { ask, signIn } from '../support/admin.ts'
import { control } from '../support/control.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json, startNode, type TestNode } from '../support/node.ts'
import { until } from '../support/process.ts'

interface Line {
  readonly type?: string
  readonly code?: string
  readonly message?: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  readonly result?: any
}

/** Sends a request to the control socket. Returns the lines of the answer. */
function lines(folder: string, path: string, body: object = {}): Promise<Line[]> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const options = { socketPath: controlSocketOf(folder), path: `/api/v2/admin${path}`, method: 'POST', headers }
    request(options, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString()
      resolve(
        text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line)),
      )
    })
      .on('error', reject)
      .end(JSON.stringify(body))
  })
}

/** Publishes events and uploads files until it is stopped. */
function load({ call, upload }: TestNode) {
  let isStopped = false
  let published = 0
  const publish = async (): Promise<void> => {
    while (!isStopped) {
      const data = Array.from({ length: 20 }, (_, i) => ({ tags: ['load'], payload: published + i }))
      const body = JSON.stringify({ data })
      assert.equal((await call('/api/v2/events/publish', { method: 'POST', body, headers: json })).status, 200)
      published += data.length
    }
  }
  const uploads = async (): Promise<void> => {
    while (!isStopped) {
      assert.equal((await upload({ file: systemRandom.bytes(600_000) })).status, 200)
    }
  }
  const working = Promise.all([publish(), uploads()])
  return {
    published: () => published,
    stop: async () => {
      isStopped = true
      await working
    },
  }
}

test('a node is verified and backed up while it is used: the copies are complete and intact', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const node = await startNode(t, folder)
  const { published, stop } = load(node)
  await until(
    () => (published() > 100 ? true : undefined),
    () => 'nothing is published',
  )
  const before = published()
  const target = join(folder, '../copy')
  const [done] = (await lines(folder, '/store/backup', { target })).slice(-1)
  const after = published()
  assert.deepEqual(done?.result, { target, topics: 1 })
  const [verified] = (await lines(folder, '/store/verify')).slice(-1)
  await stop()
  assert.deepEqual(verified?.result.problems, [])
  assert.ok(verified?.result.reports[0].events >= after)
  const { problems, reports } = verifyFolder(target)
  assert.deepEqual(problems, [])
  const events = reports[0]?.events ?? 0
  assert.ok(events >= before && events <= after + 1000, `${before} ${events} ${after}`)
  const copy = await startNode(t, target)
  assert.equal(copy.node.id, node.node.id)
})

test('there is one job at a time, a target is new, and a job that fails leaves nothing', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const { node } = await startNode(t, folder)
  const target = join(folder, '../copy')
  const [first, second] = await Promise.all([
    lines(folder, '/store/verify'),
    lines(folder, '/store/backup', { target }),
  ])
  assert.deepEqual([first.at(-1)?.type, second.at(-1)?.code].sort(), ['ERR_SERVICE_OVERLOADED', 'result'].sort())
  assert.equal(existsSync(target), false)
  assert.equal((await lines(folder, '/store/backup', { target: folder })).at(-1)?.code, 'ERR_INVALID_INPUT')
  for (const body of [{}, { target: 7 }, { target: 'relative' }])
    assert.equal((await lines(folder, '/store/backup', body))[0]?.code, 'ERR_INVALID_INPUT')
  // A folder in which nothing can be made.
  const [failed] = (await lines(folder, '/store/backup', { target: join(topicFiles(folder)[0] ?? '', 'x') })).slice(-1)
  assert.equal(failed?.code, 'ERR_IO')
  const [at] = node.addresses.admin
  assert.ok(at)
  const { token } = (await signIn(at, new KeyPair(Buffer.alloc(32, 2)))).body
  const backUp = (name: string) => ask(at, 'POST', '/store/backup', { token, body: JSON.stringify({ target: name }) })
  assert.equal((await backUp(target)).body.code, 'ERR_INVALID_INPUT')
  assert.match(String((await backUp('monday')).body), /"type":"result"/)
  assert.deepEqual(readdirSync(join(folder, 'backups')), ['monday'])
})

test('a backup that is cancelled is removed, and the next one can start', async (t) => {
  const folder = temporaryFolder(t)
  const held = {
    whileHeld: (work: () => Promise<unknown>) => {
      const worked = work()
      job.cancel()
      return worked
    },
  }
  const jobs = new StoreJobs({
    nodeId: nodeIdOf(new KeyPair(Buffer.alloc(32, 1)).publicKey),
    folder,
    nodeDatabase: {} as NodeDatabase,
    files: async () => held as unknown as Files,
    openTopic: () => 'a',
    clock: systemRuntime.clock,
  })
  const target = join(folder, 'copy')
  let job = jobs.backUp(target, () => {})
  await assert.rejects(job.result, /has ended/)
  assert.equal(existsSync(target), false)
  job = jobs.backUp(target, () => {})
  await assert.rejects(job.result, /has ended/)
})

test('a backup through the admin port stays below its folder, one through the control socket has any path', () => {
  const target = targetBelow('/data')
  assert.equal(target('2026-11-18_a.b'), '/data/backups/2026-11-18_a.b')
  for (const name of ['', '.', '..', '../x', '/tmp/x', 'a/b', 'a\\b', '.hidden', 'a\0', 'x'.repeat(101)])
    assert.throws(() => target(name), { code: 'ERR_INVALID_INPUT' }, name)
  assert.equal(anyTarget('/tmp/x'), '/tmp/x')
  assert.throws(() => anyTarget('x'), { code: 'ERR_INVALID_INPUT' })
})

test('the store is restarted on request, with all its events', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const { call, payloads, log } = await startNode(t, folder)
  const body = JSON.stringify({ data: [{ tags: ['a'], payload: 7 }] })
  assert.equal((await call('/api/v2/events/publish', { method: 'POST', body, headers: json })).status, 200)
  assert.deepEqual((await control(folder, 'POST', '/node/restart-store')).body, { phase: 'restarting' })
  await until(
    () => (log.some((line) => line.includes("the topic 'default-topic' is open")) ? true : undefined),
    () => log.join(''),
  )
  assert.deepEqual(await payloads('a'), [7])
})
