import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { type Listening, socketText } from '../../src/listening/listen.ts'
import { schema } from '../../src/settings/index.ts'
import { ask as askPort, signIn } from '../support/admin.ts'
import { type Answer, type Asked, control } from '../support/control.ts'
import { temporaryFolder } from '../support/folder.ts'
import { addForeignStream } from '../support/foreign-stream.ts'
import { startBareNode } from '../support/node.ts'

async function started(t: TestContext, folder = join(temporaryFolder(t), 'data')) {
  const { node, log } = await startBareNode(t, { folder })
  const ask = (method: string, path: string, asked?: Asked): Promise<Answer> => control(folder, method, path, asked)
  const put = (scope: string, value: unknown, more = '', headers = {}) =>
    ask('PUT', `/settings?scope=${scope}${more}`, { body: JSON.stringify(value), headers })
  return { node, log, folder, ask, put }
}

test('the node describes itself: identity, version, state', async (t) => {
  const { node, folder, ask } = await started(t)
  const { status, body } = await ask('GET', '/node')
  assert.equal(status, 200)
  const { startedIso, startedUnix, uptime, version, ...rest } = body
  assert.match(startedIso, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
  assert.equal(Date.parse(startedIso), startedUnix * 1000)
  assert.deepEqual(Object.keys(uptime), ['secs', 'nanos'])
  const { uptime: later } = (await ask('GET', '/node')).body
  assert.ok(later.secs * 1e9 + later.nanos > uptime.secs * 1e9 + uptime.nanos)
  assert.deepEqual(Object.keys(version), ['profile', 'target', 'version', 'gitHash'])
  const described = { nodeId: node.id, displayName: 'Default Node', pid: process.pid, dataFolder: folder }
  assert.deepEqual(rest, { ...described, cycleCount: 0, phase: 'running', problems: [] })
})

test('settings are read with and without defaults, with their revision', async (t) => {
  const { ask, put } = await started(t)
  assert.equal((await put('/swarm/metricsInterval', 60)).status, 200)
  const all = await ask('GET', '/settings')
  assert.equal(all.body.swarm.topic, 'default-topic')
  assert.equal(all.headers['etag'], '"1"')
  assert.deepEqual((await ask('GET', '/settings?scope=/&defaults=false')).body, { swarm: { metricsInterval: 60 } })
  assert.equal((await ask('GET', '/settings?scope=%2Fswarm%2FmetricsInterval')).body, 60)
  assert.deepEqual((await ask('GET', '/settings/schema')).body, schema)
})

test('a change says which paths apply at once, and which by a restart of parts', async (t) => {
  const { node, ask, put } = await started(t)
  const changed = await put('/', { swarm: { topic: 'a' }, admin: { displayName: 'b' } })
  assert.deepEqual(changed.body.applied, { live: ['/admin/displayName'], restart: ['/swarm/topic'] })
  assert.equal(changed.body.settings.swarm.topic, 'a')
  assert.equal((await ask('GET', '/node')).body.displayName, 'b')
  const merged = await ask('PATCH', '/settings?scope=/admin', {
    body: '{"logLevels":{"node":"WARN"}}',
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.deepEqual(merged.body.applied, { live: ['/admin/logLevels/node'], restart: [] })
  assert.equal(merged.body.settings.displayName, 'b')
  const unset = await ask('DELETE', '/settings?scope=/swarm/topic')
  assert.deepEqual(unset.body, {
    scope: '/swarm/topic',
    settings: 'default-topic',
    revision: 3,
    applied: { live: [], restart: ['/swarm/topic'] },
  })
  assert.equal(node.settings.revision, 3)
})

test('a dry run changes nothing', async (t) => {
  const { node, put } = await started(t)
  const tried = await put('/swarm/topic', 'a', '&dryRun=true')
  assert.deepEqual(tried.body, {
    scope: '/swarm/topic',
    settings: 'a',
    revision: 0,
    applied: { live: [], restart: ['/swarm/topic'] },
    changes: [{ path: '/swarm/topic', before: 'default-topic', after: 'a' }],
  })
  assert.equal((await put('/swarm/topic', 7, '&dryRun=true')).status, 422)
  assert.equal(node.settings.revision, 0)
})

test('a change for an earlier revision is refused', async (t) => {
  const { put } = await started(t)
  assert.equal((await put('/swarm/topic', 'a', '', { 'if-match': '"0"' })).status, 200)
  const late = await put('/swarm/topic', 'b', '', { 'if-match': '0' })
  assert.equal(late.status, 409)
  assert.equal(late.body.code, 'ERR_SETTINGS_CONFLICT')
  assert.equal((await put('/swarm/topic', 'b', '', { 'if-match': '1' })).status, 200)
  assert.equal((await put('/swarm/topic', 'c', '', { 'if-match': '*' })).status, 200)
})

test('the history names revisions and their differences, and an earlier one can be restored', async (t) => {
  const { ask, put } = await started(t)
  await put('/swarm/topic', 'a')
  await put('/admin/displayName', 'b')
  const rolledBack = await ask('POST', '/settings/rollback', { body: '{"revision":1}' })
  assert.equal(rolledBack.body.revision, 3)
  assert.deepEqual(rolledBack.body.applied, { live: ['/admin/displayName'], restart: [] })
  const history = (await ask('GET', '/settings/history')).body as { time: string }[]
  assert.ok(history.every(({ time }) => Number.isFinite(Date.parse(time))))
  assert.deepEqual(
    history.map(({ time: _, ...entry }) => entry),
    [
      {
        revision: 3,
        origin: 'control socket, rollback to 1',
        changed: ['/admin/displayName'],
        changes: [{ path: '/admin/displayName', before: 'b', after: 'Default Node' }],
      },
      {
        revision: 2,
        origin: 'control socket',
        changed: ['/admin/displayName'],
        changes: [{ path: '/admin/displayName', before: 'Default Node', after: 'b' }],
      },
      {
        revision: 1,
        origin: 'control socket',
        changed: ['/swarm/topic'],
        changes: [{ path: '/swarm/topic', before: 'default-topic', after: 'a' }],
      },
    ],
  )
  assert.deepEqual(
    (await ask('GET', '/settings/history?limit=2')).body.map(({ changed }: { changed: string[] }) => changed),
    [['/admin/displayName'], ['/admin/displayName']],
  )
})

test('a stream of another node is forgotten, and one of this node is not', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const stream = await addForeignStream(t, folder)
  const { node, ask } = await started(t, folder)
  const streams = async () => {
    const { body } = await ask('GET', '/store/stats')
    return (body[0].streams as { stream: string }[]).map((row) => row.stream)
  }
  assert.ok((await streams()).includes(stream))
  const forget = (id: string) => ask('POST', '/store/forget-stream', { body: JSON.stringify({ stream: id }) })
  assert.deepEqual((await forget(stream)).body, { stream, forgotten: true })
  assert.deepEqual((await forget(stream)).body, { stream, forgotten: false })
  assert.deepEqual((await forget(`${stream.slice(0, -1)}18446744073709551615`)).body.forgotten, false)
  assert.ok(!(await streams()).includes(stream))
  const own = await forget(`${node.id}-0`)
  assert.equal(own.status, 400)
  assert.match(own.body.message, /^A stream of this node cannot be forgotten.*\/eventRouting\/streams/)
})

test('there is nothing to accept on a node that was not restored', async (t) => {
  const { ask } = await started(t)
  assert.deepEqual((await ask('POST', '/store/accept-restored')).body, { accepted: 0 })
})

test('invalid settings are refused with a list of what is wrong', async (t) => {
  const { put } = await started(t)
  const { status, body } = await put('/swarm', { topic: '', mdns: 7 })
  assert.equal(status, 422)
  assert.equal(body.code, 'ERR_SETTINGS_INVALID')
  assert.match(body.message, /^Validation failed\.\n\tErrors:\n/)
  assert.deepEqual((body.errors as { path: string; title: string }[]).map(({ path, title }) => [path, title]).sort(), [
    ['/swarm/mdns', 'Type of the value is wrong'],
    ['/swarm/topic', 'MinLength condition is not met'],
  ])
})

test('bad requests are refused by name', async (t) => {
  const { ask } = await started(t)
  const refused: [method: string, path: string, asked: Asked, status: number, code: string][] = [
    ['GET', '/settings?scope=/nothing', {}, 404, 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE'],
    ['GET', '/settings?scope=swarm', {}, 400, 'ERR_INVALID_INPUT'],
    ['GET', '/settings?scope=/a//b', {}, 400, 'ERR_INVALID_INPUT'],
    ['GET', '/settings?defaults=maybe', {}, 400, 'ERR_INVALID_INPUT'],
    ['PUT', '/settings?scope=/swarm/topic', { body: 'no json' }, 400, 'ERR_INVALID_INPUT'],
    ['PUT', '/settings?scope=/swarm/topic', { body: '' }, 400, 'ERR_INVALID_INPUT'],
    ['PUT', '/settings?scope=/swarm/topic&dryRun=1', { body: '"a"' }, 400, 'ERR_INVALID_INPUT'],
    ['PUT', '/settings', { body: '{}', headers: { 'if-match': 'abc' } }, 400, 'ERR_INVALID_INPUT'],
    ['PUT', '/settings', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415, 'ERR_UNSUPPORTED_MEDIA_TYPE'],
    ['PUT', '/settings', { body: ' '.repeat(limits.settingsDocumentBytes + 1) }, 413, 'ERR_PAYLOAD_TOO_LARGE'],
    ['GET', '/settings/history?limit=0', {}, 400, 'ERR_INVALID_INPUT'],
    ['POST', '/settings/rollback', { body: '{}' }, 400, 'ERR_INVALID_INPUT'],
    ['POST', '/settings/rollback', { body: '{"revision":"1"}' }, 400, 'ERR_INVALID_INPUT'],
    ['POST', '/settings/rollback', { body: '{"revision":9}' }, 404, 'ERR_SETTINGS_REVISION_UNKNOWN'],
    ['POST', '/settings/rollback', { body: '[]' }, 400, 'ERR_BAD_REQUEST'],
    ['POST', '/store/forget-stream', { body: '{"stream":7}' }, 400, 'ERR_INVALID_INPUT'],
    ['POST', '/store/forget-stream', { body: '{"stream":"x"}' }, 400, 'ERR_INVALID_INPUT'],
    ['GET', '/node/shutdown', {}, 405, 'ERR_METHOD_NOT_ALLOWED'],
    ['GET', '/nothing', {}, 404, 'ERR_NOT_FOUND'],
  ]
  for (const [method, path, asked, status, code] of refused) {
    const answer = await ask(method, path, asked)
    assert.deepEqual([answer.status, answer.body.code], [status, code], `${method} ${path}: ${answer.body.message}`)
  }
})

test('the routes are not on the API, and need a session on the admin port', async (t) => {
  const { node, log } = await started(t)
  const statuses = async (addresses: readonly Listening[]): Promise<number[]> =>
    await Promise.all(
      addresses.map(async (at) => (await fetch(`http://${socketText(at)}/api/v2/admin/settings`)).status),
    )
  assert.deepEqual(new Set(await statuses(node.addresses.api)), new Set([404]))
  assert.deepEqual(new Set(await statuses(node.addresses.admin)), new Set([401]))
  const [at] = node.addresses.admin
  assert.ok(at)
  assert.ok(
    log.some((line) => /No user is authorized to manage this node yet.*one-time code [0-9A-Z-]{24}\.$/m.test(line)),
  )
  const { token, firstUser } = (await signIn(at, new KeyPair(Buffer.alloc(32, 2)))).body
  assert.equal(firstUser, true)
  assert.equal((await askPort(at, 'GET', '/node', { token })).body.nodeId, node.id)
})
