import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { socketText } from '../../src/listening/listen.ts'
import type { Node } from '../../src/node/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { SettingsChange } from '../../src/settings/index.ts'
import { settingsChecksum } from '../../src/store/index.ts'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'
import { until } from '../support/process.ts'

/** Starts a node with a short pruning interval, so that the test does not wait for it. */
function startNode(t: TestContext, folder = temporaryFolder(t)): ReturnType<typeof startBareNode> {
  return startBareNode(t, { folder, retentionMs: 20 })
}

const url = (node: Node, part: 'api' | 'admin', path: string) => {
  const [address] = node.addresses[part]
  assert.ok(address)
  return `http://${socketText(address)}${path}`
}

test('a change of the log level takes effect at runtime', async (t) => {
  const { node, log } = await startNode(t)
  await fetch(url(node, 'api', '/healthz'))
  assert.ok(!log.some((line) => line.includes('DEBUG')))
  await node.settings.set(['admin', 'logLevels', 'node'], 'DEBUG', 'test')
  await fetch(url(node, 'api', '/healthz'))
  assert.ok(log.some((line) => /DEBUG api: request method=GET path=\/healthz status=200/.test(line)))
  await node.settings.unset(['admin', 'logLevels'], 'test')
  const lines = log.length
  await fetch(url(node, 'api', '/healthz'))
  assert.equal(log.length, lines)
})

test('a change of settings is logged and emitted with the changed paths, a refused one is not', async (t) => {
  const { node, log } = await startNode(t)
  const changes: SettingsChange[] = []
  node.settings.onChange((change) => changes.push(change))
  await node.settings.set(['swarm'], { topic: 'x', gossipInterval: 0 }, 'test')
  assert.deepEqual(changes.at(-1)?.paths, ['/swarm/topic', '/swarm/gossipInterval'])
  assert.equal(changes.at(-1)?.after.swarm.topic, 'x')
  assert.ok(log.some((line) => line.includes('NODE_SETTINGS_CHANGED: Node settings at scope /swarm were changed.')))
  assert.ok(log.some((line) => line.includes('/swarm/gossipInterval is 0, which cannot work; 1 is used')))
  await assert.rejects(node.settings.set(['swarm', 'topic'], '', 'test'), { code: 'ERR_SETTINGS_INVALID' })
  await node.settings.set(['swarm', 'topic'], 'x', 'test')
  assert.equal(changes.length, 1)
})

test('a change of branchCacheSize takes effect at runtime, and is at least 1 MiB', async (t) => {
  const capacities: number[] = []
  const record = (thread: Worker): void => {
    const post = thread.postMessage.bind(thread)
    t.mock.method(thread, 'postMessage', (message: { type?: string; bytes: number }, ...transfer: []) => {
      if (message.type === 'cacheBytes') capacities.push(message.bytes)
      post(message, ...transfer)
    })
  }
  process.on('worker', record)
  t.after(() => process.off('worker', record))
  const { node } = await startNode(t)
  await publish(node, 'a')
  await node.settings.set(['swarm', 'branchCacheSize'], 5_000_000, 'test')
  await node.settings.set(['swarm', 'branchCacheSize'], 1, 'test')
  await node.settings.set(['swarm', 'gossipInterval'], 7, 'test')
  assert.deepEqual(capacities.slice(-2), [5_000_000, 1024 * 1024])
})

/** Publishes events with a tag as an app. Returns the numbers of their streams. */
async function publish(node: Node, tag: string, count = 1): Promise<string[]> {
  const body = Buffer.from(JSON.stringify(manifest))
  const auth = await fetch(url(node, 'api', '/api/v2/auth'), { method: 'POST', body })
  const { token } = (await auth.json()) as { token: string }
  const response = await fetch(url(node, 'api', `/api/v2/events/publish?access_token=${token}`), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: Array.from({ length: count }, () => ({ tags: [tag], payload: null })) }),
  })
  assert.equal(response.status, 200)
  return ((await response.json()) as { data: { stream: string }[] }).data.map(({ stream }) => stream.slice(44))
}

test('a change of routes and retention limits takes effect at runtime', async (t) => {
  const { node, log } = await startNode(t)
  assert.deepEqual(await publish(node, 'logs'), ['0'])
  const routes = [{ from: "'logs'", into: 'logs' }]
  await node.settings.set(['eventRouting'], { routes, streams: { logs: { maxEvents: 1 } } }, 'test')
  assert.deepEqual(new Set(await publish(node, 'logs', 1024)), new Set(['4']))
  await publish(node, 'logs')
  const removed = /removed \d+ events that were beyond the limits of the stream 'logs'/
  await until(
    () => log.find((line) => removed.test(line)),
    () => log.join(''),
  )
  assert.ok(!log.some((line) => line.includes('has no effect')))
  await node.settings.set(['eventRouting', 'routes'], [], 'test')
  assert.deepEqual(await publish(node, 'logs'), ['0'])
})

test('a read-only node logs that, and still accepts published events', async (t) => {
  const { node, log } = await startNode(t)
  const says = () => log.filter((line) => /INFO swarm: This node is read-only/.test(line)).length
  assert.equal(says(), 0)
  await node.settings.set(['api', 'events', 'readOnly'], true, 'test')
  assert.equal(says(), 1)
  assert.deepEqual(await publish(node, 'x'), ['0'])
  await node.settings.set(['api', 'events', 'readOnly'], false, 'test')
  assert.equal(says(), 1)
})

test('the public default swarm key is warned about, another key is not', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startNode(t, folder)
  assert.ok(first.log.some((line) => /WARN swarm: The swarm key is the public default/.test(line)))
  await first.node.settings.set(['swarm', 'swarmKey'], Buffer.alloc(32, 7).toString('base64'), 'test')
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const second = await startNode(t, folder)
  assert.equal(second.node.id, first.node.id)
  assert.ok(!second.log.some((line) => line.includes('public default')))
})

test('health and readiness checks need no token, on the API and on the admin port', async (t) => {
  const { node } = await startNode(t)
  for (const [part, path] of [
    ['api', '/healthz'],
    ['api', '/api/v2/health'],
    ['admin', '/api/v2/admin/health'],
  ] as const)
    assert.deepEqual(await (await fetch(url(node, part, path))).json(), { status: 'alive' })
  for (const [part, path] of [
    ['api', '/readyz'],
    ['api', '/api/v2/ready'],
    ['admin', '/api/v2/admin/ready'],
  ] as const)
    assert.deepEqual(await (await fetch(url(node, part, path))).json(), { status: 'ready' })
  assert.equal(await (await fetch(url(node, 'api', '/api/v2/node/id/'))).text(), node.id)
})

test('a connection to the swarm port is closed at once, and the node stays ready', async (t) => {
  const { node } = await startNode(t)
  const [address] = node.addresses.swarm
  assert.ok(address)
  const socket = connect(address.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('hello')
  await new Promise((resolve) => socket.once('close', resolve))
  assert.equal((await fetch(url(node, 'api', '/readyz'))).status, 200)
})

test('a node with an invalid revision of the settings starts with the revision before it', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startNode(t, folder)
  await first.node.settings.set(['admin', 'displayName'], 'good', 'test')
  await first.node.settings.set(['admin', 'displayName'], 'better', 'test')
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(`${folder}/node.db`)
  // As if written by another version of shoal: the checksum is right, but the document is invalid here.
  const row = database.prepare('SELECT revision, time, origin FROM settings WHERE revision = 2').get()
  const document = '{"admin":{"displayName":1}}'
  const checksum = settingsChecksum({ ...(row as { revision: number; time: number; origin: string }), document })
  database.prepare('UPDATE settings SET document = ?, checksum = ? WHERE revision = 2').run(document, checksum)
  database.close()
  const second = await startNode(t, folder)
  assert.equal(second.node.settings.document.admin.displayName, 'good')
  assert.ok(second.log.some((line) => /ERROR settings: revision 2 of the settings is not valid/.test(line)))
})

test('valid settings stay in force when their new seal cannot be stored', async () => {
  const { Settings } = await import('../../src/settings/index.ts')
  const stored = {
    revision: 1,
    time: 0,
    origin: 'test',
    document: '{"swarm":{"topic":"mine"}}',
    seal: 'of another version',
  }
  const fullDisk = () => {
    throw new Error('database or disk is full')
  }
  const log = {
    revision: () => stored,
    revisions: () => [stored],
    append: fullDisk,
    reseal: fullDisk,
    removeDamaged: fullDisk,
  }
  const settings = await Settings.open(log, systemClock, () => assert.fail('it is valid'))
  assert.equal(settings.document.swarm.topic, 'mine')
})

test('settings of another version of shoal are validated once and sealed again', async (t) => {
  const folder = temporaryFolder(t)
  const first = await startNode(t, folder)
  await first.node.settings.set(['admin', 'displayName'], 'kept', 'test')
  await first.node.stop('NODE_STOPPED_BY_HOST')
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(`${folder}/node.db`)
  const seal = () => database.prepare('SELECT seal FROM settings').get()?.['seal']
  const ours = seal()
  database.exec("UPDATE settings SET seal = 'of another version'")
  const second = await startNode(t, folder)
  assert.equal(second.node.settings.document.admin.displayName, 'kept')
  assert.equal(seal(), ours)
  database.close()
})

test('starting a node does not load undici or http2', async (t) => {
  const { spawnSync } = await import('node:child_process')
  const entry = new URL('../../src/node/index.ts', import.meta.url).href
  const script = `import(${JSON.stringify(entry)}).then(() => console.log(process.moduleLoadList.filter((name) => /undici|http2/.test(name)).join()))`
  assert.equal(
    spawnSync(process.execPath, ['--eval', script], { cwd: temporaryFolder(t), encoding: 'utf8' }).stdout,
    '\n',
  )
})
