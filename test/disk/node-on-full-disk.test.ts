import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { json, startNode, type TestNode } from '../support/node.ts'
import { BreakingDisk, SmallDisk } from './disks.ts'

// Requires Linux and the privilege to mount file systems. Fails without them instead of being skipped.

interface Ready {
  readonly status: number
  readonly reasons: readonly { readonly component: string; readonly state: string; readonly detail?: string }[]
}

async function readiness({ url }: TestNode): Promise<Ready> {
  const response = await fetch(`${url}/readyz`)
  const { reasons = [] } = (await response.json()) as Partial<Ready>
  return { status: response.status, reasons }
}

/** Waits until the node is ready, without requests that need the disk. */
async function untilReady(node: TestNode): Promise<void> {
  while ((await readiness(node)).reasons.length > 0) await setTimeout(50)
}

async function diskErrors({ url }: TestNode, work: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((line) => line.startsWith('shoal_disk_errors_total') && line.includes(`"${work}"`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

function publish({ call }: TestNode, payload: string): Promise<Response> {
  const body = JSON.stringify({ data: [{ tags: ['a'], payload }] })
  return call('/api/v2/events/publish', { method: 'POST', body, headers: json })
}

/** Publishes until a number of requests were refused because the disk is full. Returns that number. */
async function publishUntilRefused(node: TestNode, refusals: number): Promise<number> {
  for (let refused = 0; ; ) {
    const { status } = await publish(node, 'x'.repeat(20_000))
    if (status === 503) refused++
    else assert.equal(status, 200)
    if (refused >= refusals) return refused
  }
}

const diskLines = (node: TestNode, words: string): string[] => node.log.filter((line) => line.includes(words))

test('a full disk causes one log line, a counter and a reason in /readyz, until there is space', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const node = await startNode(t, disk.file('data'))
  assert.equal((await readiness(node)).status, 200)
  assert.equal((await publish(node, 'kept')).status, 200)
  disk.fill()
  await publishUntilRefused(node, 100)
  const { status, reasons } = await readiness(node)
  assert.equal(status, 503)
  assert.deepEqual(
    reasons.map(({ component, state }) => ({ component, state })),
    [{ component: 'Disk', state: 'failed' }],
  )
  assert.match(reasons[0]?.detail ?? '', /storing events fails: there is no room left on the disk/)
  assert.ok((await diskErrors(node, 'publish')) >= 100)
  assert.equal(diskLines(node, 'storing events fails: there is no room left on the disk').length, 1)
  assert.ok((await node.payloads('a')).includes('kept'), 'reads work')
  disk.makeSpace()
  await untilReady(node)
  assert.equal(diskLines(node, 'storing events works again').length, 1)
  assert.equal((await publish(node, 'after')).status, 200)
})

test('a failing disk is a reason in /readyz until it is repaired', async (t) => {
  const disk = BreakingDisk.mount(t, '12m', '64m')
  const node = await startNode(t, disk.file('data'))
  for (let round = 0; round < 2; round++) {
    disk.break()
    await publishUntilRefused(node, 5)
    const { reasons } = await readiness(node)
    assert.match(reasons[0]?.detail ?? '', /storing events fails: /)
    assert.equal((await fetch(`${node.url}/healthz`)).status, 200)
    disk.repair()
    await untilReady(node)
    assert.equal((await publish(node, 'after')).status, 200)
  }
})

test('a disk that is full before the databases of files and blobs exist refuses writes with 503, and serves reads', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const before = await startNode(t, disk.file('data'))
  await before.node.stop('NODE_STOPPED_BY_HOST')
  const topics = disk.file('data/topics')
  for (const name of readdirSync(topics)) if (name.includes('-blocks')) rmSync(join(topics, name))
  // Enough space for the start, but not for a database.
  disk.fill()
  disk.remount('size=16464k')
  const node = await startNode(t, disk.file('data'))
  disk.fill()
  const blob = (method: string) => node.call('/api/v2/blob/-/a', { method, ...(method === 'PUT' && { body: 'text' }) })
  assert.equal((await blob('GET')).status, 204, 'there is no blob')
  const refused = await blob('PUT')
  assert.equal(refused.status, 503)
  assert.match(await refused.text(), /ERR_STORAGE.*no room left on the disk/)
  assert.equal((await blob('GET')).status, 204)
  const upload = await node.upload({ a: 'content' })
  assert.equal(upload.status, 503)
  assert.match(await upload.text(), /ERR_STORAGE.*no room left on the disk/)
  assert.deepEqual(await node.payloads('a'), [], 'events can be read')
  const { status, reasons } = await readiness(node)
  assert.equal(status, 503)
  assert.match(reasons[0]?.detail ?? '', /storing blobs fails: .*no room left on the disk/)
  assert.match(reasons[0]?.detail ?? '', /storing files fails: .*no room left on the disk/)
  disk.makeSpace()
  await untilReady(node)
  assert.equal((await blob('PUT')).status, 204)
  assert.equal(await (await blob('GET')).text(), 'text')
  assert.equal((await node.upload({ a: 'content' })).status, 200)
})

test('on a full disk blobs and files are served, and writes are refused', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const node = await startNode(t, disk.file('data'))
  const put = (name: string, body: string) => node.call(`/api/v2/blob/-/${name}`, { method: 'PUT', body })
  assert.equal((await put('a', 'text')).status, 204)
  const cid = await (await node.upload({ a: 'content' })).text()
  disk.fill()
  for (let i = 0; i < 100_000; i++) if ((await put(`${i}`, crypto.randomUUID().repeat(300))).status === 503) break
  assert.equal(await (await node.call('/api/v2/blob/-/a')).text(), 'text')
  assert.equal(await (await node.call(`/api/v2/files/${cid}`)).text(), 'content')
  assert.ok((await diskErrors(node, 'blob_write')) > 0)
  disk.makeSpace()
  await untilReady(node)
  assert.equal((await put('b', 'text')).status, 204)
})

test('background work that fails on a full disk is logged and counted, and the node recovers once there is space', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const node = await startNode(t, disk.file('data'))
  const batch = (): string => {
    const data = Array.from({ length: 200 }, () => ({ tags: ['a'], payload: randomBytes(100).toString('base64') }))
    return JSON.stringify({ data })
  }
  const publishBatch = () =>
    node.call('/api/v2/events/publish', { method: 'POST', body: batch(), headers: json }).then(({ status }) => status)
  // The write-ahead log can reuse this space when the disk is full; the database cannot.
  for (let i = 0; i < 40; i++) assert.equal(await publishBatch(), 200)
  disk.fill()
  const isLogged = () =>
    node.log.some((line) => /(sealing events|checkpointing the write-ahead log) fails: /.test(line))
  while ((await publishBatch()) === 200);
  while (!isLogged()) await setTimeout(20)
  const [seal, checkpoint] = [await diskErrors(node, 'seal'), await diskErrors(node, 'checkpoint')]
  assert.ok(seal + checkpoint > 0)
  disk.makeSpace()
  await untilReady(node)
  assert.ok((await node.payloads('a')).length >= 8000)
})
