import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Connections } from '../../src/api/index.ts'
import { limits } from '../../src/base/limits.ts'
import { MemoryAccount } from '../../src/client-memory/account.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { silent, sqliteStore, startApi, type TestApi } from '../support/api.ts'
import { Lines } from '../support/lines.ts'

const mib = 1024 * 1024

async function start(t: TestContext, limitBytes: number) {
  const account = MemoryAccount.create(limitBytes)
  const connections = new Connections({ ...systemRuntime, account, log: silent, auditMs: 10 })
  const api = await startApi(t, { connections, store: await sqliteStore(t, { clientMemory: account.memory }) })
  return { account, api }
}

const json = { 'content-type': 'application/json' }
const read = (api: TestApi, path: string, body: object) =>
  api.call(`/api/v2/events/${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) })

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A slow client: sends a request and does not read the response. */
function unread(t: TestContext, { url, token }: TestApi, path: string, body: object): Socket {
  const { port, hostname } = new URL(url)
  const text = JSON.stringify(body)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.pause()
  t.after(() => socket.destroy())
  socket.write(
    `POST /api/v2/events/${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

/** A query with one generated result of about `times` × 5 MB. */
function largeResult(times: number): string {
  const doubled = 'LET x := `{x}{x}` '.repeat(19)
  const copies = Array.from({ length: times }, () => 'x').join(', ')
  return `FEATURES(interpolation fromArray) FROM [1] LET x := 'xxxxxxxxxx' ${doubled}SELECT [${copies}]`
}

test('unread results are charged, further ones are rejected, and other clients are served', async (t) => {
  const { account, api } = await start(t, 128 * mib)
  const query = largeResult(3)
  const slowClients = Array.from({ length: 20 }, () => unread(t, api, 'query', { query, order: 'asc' }))
  await until(() => account.usedBytes > 55 * mib)
  const published = await api.publish('{"data":[{"tags":["a"],"payload":1}]}')
  assert.equal(published.status, 200)
  const found = await read(api, 'query', { query: "FROM 'a'", order: 'asc' })
  assert.equal(new TextDecoder().decode(await found.arrayBuffer()).split('\n').length, 3)
  assert.ok(account.usedBytes <= account.limitBytes)
  for (const socket of slowClients) socket.destroy()
  await until(() => account.usedBytes < mib)
})

test('a result that exceeds the memory limit is replaced with an error', async (t) => {
  const { account, api } = await start(t, 32 * mib)
  const response = await read(api, 'query', { query: largeResult(6), order: 'asc' })
  const lines = (await response.text()).trim().split('\n')
  assert.match(lines[0] ?? '', /ERR_SERVICE_OVERLOADED|holds too much at once/)
  await until(() => account.usedBytes < mib)
})

test('the memory of aggregates is charged, and a query that exceeds the limit fails', async (t) => {
  const { account, api } = await start(t, 128 * mib)
  const count = 150
  for (let n = 0; n < count; n++) {
    const body = JSON.stringify({ data: [{ tags: ['large'], payload: { n, text: 'x'.repeat(mib) } }] })
    assert.equal((await api.publish(body)).status, 200)
  }
  const held = Array.from({ length: count }, (_, n) => `FIRST(CASE _.n = ${n} => _ ENDCASE)`)
  const query = `FEATURES(aggregate) FROM 'large' AGGREGATE [${held.join(', ')}] SELECT 1`
  const response = await read(api, 'query', { query, order: 'asc' })
  const lines = (await response.text()).trim().split('\n')
  assert.match(lines.at(-1) ?? '', /ERR_SERVICE_OVERLOADED.*The memory for clients is used up/)
  await until(() => account.usedBytes < mib)
})

test('an open query is charged for its text and bounds until it ends', async (t) => {
  const { account, api } = await start(t, 128 * mib)
  const query = "FROM 'x'".padEnd(100_000)
  const response = await read(api, 'subscribe', { query })
  assert.equal(response.status, 200)
  assert.ok(account.usedBytes > 100_000 * limits.openBytesPerCharacter)
  await response.body?.cancel()
  await until(() => account.usedBytes < mib)
})

test('a bound with more offsets than the limit is rejected with 400', async (t) => {
  const { api } = await start(t, 128 * mib)
  const node = '.'.repeat(43)
  const lowerBound = Object.fromEntries(
    Array.from({ length: limits.offsetsPerBound + 1 }, (_, i) => [`${node}-${i}`, 1]),
  )
  const refused = await read(api, 'subscribe', { query: "FROM 'x'", lowerBound })
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /more than 32768 offsets at `lowerBound`/)
})

test('a query that exceeds the memory limit is rejected with 503', async (t) => {
  const { account, api } = await start(t, 16 * mib)
  const query = "FROM 'x'".padEnd(limits.queryBytes)
  const refused = await read(api, 'query', { query, order: 'asc' })
  assert.equal(refused.status, 503)
  assert.match(await refused.text(), /The memory for clients is used up/)
  assert.ok(account.usedBytes < mib)
})

test('1,024 idle subscriptions fit into the memory limit and receive events', async (t) => {
  const { api } = await start(t, 128 * mib)
  const open: Lines[] = []
  for (let i = 0; i < limits.openQueries; i++) open.push(new Lines(await read(api, 'subscribe', { query: "FROM 'x'" })))
  for (const lines of [open[0], open.at(-1)]) assert.match(String(await lines?.next()), /"type":"offsets"/)
  assert.equal((await api.publish('{"data":[{"tags":["x"],"payload":1}]}')).status, 200)
  for (const lines of [open[0], open.at(-1)]) assert.match(String(await lines?.nextFull()), /"type":"event"/)
  await Promise.all(open.map((lines) => lines.cancel()))
})
