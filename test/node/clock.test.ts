import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { manifest } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { json } from '../support/node.ts'
import { ShoalProcess } from '../support/process.ts'

const preload = fileURLToPath(new URL('../support/settable-clock.ts', import.meta.url))
const right = Date.UTC(2026, 0, 1)

/** Starts a node process with a wall clock that the test controls. */
async function startWithClock(t: TestContext, millis: number, folder: string) {
  const file = join(temporaryFolder(t), 'clock')
  const set = (now: number): void => writeFileSync(file, String(now))
  set(millis)
  const args = ['run', '--working-dir', folder, '--bind-api', '0', '--bind-admin', '0', '--bind-swarm', '0']
  const env = { TEST_CLOCK_FILE: file, NODE_OPTIONS: `--import ${preload}` }
  const node = new ShoalProcess(t, args, { env })
  const url = await node.api()
  // Each request needs a new token: one expires after a day, and the test moves the clock further.
  const signIn = async (): Promise<string> => {
    const response = await fetch(`${url}/api/v2/auth`, {
      method: 'POST',
      body: JSON.stringify(manifest),
      headers: json,
    })
    return ((await response.json()) as { token: string }).token
  }
  const post = async (path: string, body: unknown) => {
    const headers = { ...json, authorization: `Bearer ${await signIn()}` }
    return await fetch(url + path, { method: 'POST', body: JSON.stringify(body), headers })
  }
  const publish = () => post('/api/v2/events/publish', { data: [{ tags: ['a'], payload: 1 }] })
  const query = async (): Promise<number> => {
    const text = await (await post('/api/v2/events/query', { query: "FROM 'a'", order: 'asc' })).text()
    return text.split('\n').filter((line) => line.includes('"type":"event"')).length
  }
  const ready = async () => {
    const response = await fetch(`${url}/readyz`)
    return { status: response.status, body: (await response.json()) as { reasons?: { component: string }[] } }
  }
  return { node, set, publish, query, ready }
}

for (const [year, wrong] of [
  [1969, -1],
  [2300, Date.UTC(2300, 0, 1)],
] as const)
  test(`publishing with the clock in ${year} is refused with 503, and /readyz says why until it is set`, async (t) => {
    const { node, set, publish, query, ready } = await startWithClock(t, right, temporaryFolder(t))
    assert.equal((await publish()).status, 200)
    set(wrong)
    for (let i = 0; i < 3; i++) {
      const refused = await publish()
      assert.equal(refused.status, 503)
      const { code, message } = (await refused.json()) as { code: string; message: string }
      assert.equal(code, 'ERR_CLOCK')
      assert.match(message, new RegExp(`shows ${year}-.*from 1970 to 2255`))
    }
    const { status, body } = await ready()
    assert.equal(status, 503)
    assert.deepEqual(
      body.reasons?.map(({ component }) => component),
      ['Clock'],
    )
    set(right)
    assert.equal((await ready()).status, 200)
    assert.equal(await query(), 1)
    assert.equal((await publish()).status, 200)
    assert.equal(await query(), 2)
    await node.logged(/publishing works again, after it failed 3 times/)
    assert.equal(node.stderr.match(/publishing fails: /g)?.length, 1)
    node.kill('SIGTERM')
    assert.equal((await node.ended).code, 0)
  })

for (const [year, wrong] of [
  [1969, -1],
  [2300, Date.UTC(2300, 0, 1)],
] as const)
  test(`a node that is first started with the clock in ${year} runs, and publishes after it is set`, async (t) => {
    const { node, set, publish, query, ready } = await startWithClock(t, wrong, temporaryFolder(t))
    assert.equal((await ready()).status, 503)
    assert.equal((await publish()).status, 503)
    assert.equal(await query(), 0)
    set(right)
    assert.equal((await ready()).status, 200)
    assert.equal((await publish()).status, 200)
    assert.equal(await query(), 1)
    node.kill('SIGTERM')
    assert.equal((await node.ended).code, 0)
  })
