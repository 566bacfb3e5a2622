import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal } from '../support/process.ts'

const node = (t: TestContext, folder: string, ...more: string[]) =>
  new ShoalProcess(t, ['run', '--random', '--working-dir', folder, ...more])

async function tokenFrom(api: string, app: object = manifest): Promise<string> {
  const response = await fetch(`${api}/api/v2/auth`, { method: 'POST', body: Buffer.from(JSON.stringify(app)) })
  return ((await response.json()) as { token: string }).token
}

async function published(api: string, token: string, events: unknown[]): Promise<{ stream: string; offset: number }[]> {
  const response = await fetch(`${api}/api/v2/events/publish`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ data: events }),
  })
  assert.equal(response.status, 200)
  return ((await response.json()) as { data: { stream: string; offset: number }[] }).data
}

async function offsets(api: string, token: string): Promise<Response> {
  return await fetch(`${api}/api/v2/events/offsets`, { headers: { authorization: `Bearer ${token}` } })
}

test('published events survive kill -9, and tokens expire with the restart', async (t) => {
  const folder = temporaryFolder(t)
  const first = node(t, folder)
  const api = await first.api()
  const token = await tokenFrom(api)
  const events = Array.from({ length: 3 }, (_, i) => ({ tags: ['t'], payload: i }))
  const last = (await published(api, token, events)).at(-1)
  assert.equal(last?.offset, 6)
  first.kill('SIGKILL')
  await first.ended
  const second = node(t, folder)
  const again = await second.api()
  const refused = await offsets(again, token)
  assert.equal(refused.status, 401)
  assert.equal(((await refused.json()) as { code: string }).code, 'ERR_TOKEN_EXPIRED')
  const { present } = (await (await offsets(again, await tokenFrom(again))).json()) as { present: object }
  assert.deepEqual(present, { [last?.stream ?? '']: 6 })
})

test('events are routed by the settings, and streams keep their numbers across restarts', async (t) => {
  const folder = temporaryFolder(t)
  const local = async (...args: string[]) => {
    const { code, stderr } = await shoal(t, ['settings', 'local', ...args, '--working-dir', folder])
    assert.equal(code, 0, stderr)
  }
  await local('init')
  const streams: (string | undefined)[] = []
  for (const routes of [
    '[{"from":"\'a\'","into":"mine"}]',
    '[{"from":"\'b\'","into":"x"},{"from":"\'a\'","into":"mine"}]',
  ]) {
    await local('set', '/eventRouting/routes', routes)
    const running = node(t, folder)
    const api = await running.api()
    const events = [['a'], ['b'], []].map((tags) => ({ tags, payload: null }))
    const responses = await published(api, await tokenFrom(api), events)
    streams.push(responses.map(({ stream }) => stream.slice(44)).join())
    running.kill('SIGTERM')
    await running.ended
  }
  assert.deepEqual(streams, ['1,0,0', '1,5,0'])
})

test('a node that cannot open its event store does not start, and says why', async (t) => {
  const folder = temporaryFolder(t)
  const first = node(t, folder)
  await first.api()
  first.kill('SIGTERM')
  await first.ended
  const topics = join(folder, 'topics')
  const [file = ''] = readdirSync(topics).filter((name) => /(?<!-blocks)\.db$/.test(name))
  const database = new DatabaseSync(join(topics, file))
  database.exec('PRAGMA user_version = 99')
  database.close()
  const { code, stderr } = await node(t, folder).ended
  assert.equal(code, 1)
  assert.match(stderr, /Error: Detected future version 99 of the event log `.*\.db`/)
})

test('the database of blobs is created with the first blob', async (t) => {
  const folder = temporaryFolder(t)
  const running = node(t, folder)
  const api = await running.api()
  const headers = { authorization: `Bearer ${await tokenFrom(api)}` }
  const files = () => readdirSync(join(folder, 'topics')).filter((name) => name.endsWith('-blobs.db'))
  assert.deepEqual(files(), [])
  await fetch(`${api}/api/v2/blob/-/x`, { method: 'PUT', body: 'kept', headers })
  running.kill('SIGTERM')
  await running.ended
  assert.equal(files().length, 1)
  assert.ok(existsSync(join(folder, 'topics', files()[0] ?? '')))
})

test('invalid options of the API are refused before the data folder is opened', async (t) => {
  const folder = join(temporaryFolder(t), 'never')
  const { code, stderr } = await shoal(t, ['run', '--working-dir', folder, '--root-public-key', 'x'])
  assert.equal(code, 2)
  assert.match(stderr, /--root-public-key: This is not a public key/)
  assert.ok(!existsSync(folder))
})
