import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifest } from '../support/api.ts'
import { json, startNode } from '../support/node.ts'
import { until } from '../support/process.ts'
import { TestSocket } from '../support/socket.ts'

/** Waits for a number of matching log lines. Returns them without their timestamps. */
async function linesLike(log: readonly string[], pattern: RegExp, count: number): Promise<string[]> {
  return await until(
    () => {
      const found = log.filter((line) => pattern.test(line)).map((line) => line.replace(/^\S+ +/, '').trimEnd())
      return found.length >= count ? found : undefined
    },
    () => `not ${count} lines like ${pattern} in:\n${log.join('')}`,
  )
}

test('refused requests are logged at INFO, once per reason, with the app, without tokens or bodies', async (t) => {
  const { url, call, token, log } = await startNode(t)
  const forged = Buffer.from(token, 'base64')
  forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1)
  const secret = forged.toString('base64')
  const refused = [
    () => fetch(`${url}/api/v1/auth`),
    () => fetch(`${url}/api/v2/events/offsets`),
    () => fetch(`${url}/api/v2/events/offsets?access_token=${encodeURIComponent(secret)}`),
    () => fetch(`${url}/api/v2/events/offsets`, { headers: { authorization: 'Bearer some-secret' } }),
    () =>
      fetch(`${url}/api/v2/events/offsets`, {
        headers: { origin: 'x', 'access-control-request-method': 'X' },
        method: 'OPTIONS',
      }),
    () => call('/api/v2/events/publish', { method: 'POST', body: '{"my secret":1}', headers: json }),
    () => call('/api/v2/events/publish', { method: 'DELETE' }),
  ]
  for (const ask of [...refused, ...refused]) assert.ok((await ask()).status >= 400)
  const lines = await linesLike(log, /request refused/, refused.length)
  const at = (method: string, path: string) => `method=${method} path=${path} remote=127.0.0.1`
  assert.deepEqual(lines, [
    `INFO api: request refused: 404 ERR_NOT_FOUND ${at('GET', '/api/v1/auth')} reason="an unknown path"`,
    `INFO api: request refused: 401 ERR_MISSING_AUTH_HEADER ${at('GET', '/api/v2/events/offsets')} reason="a request without a token"`,
    `INFO api: request refused: 401 ERR_TOKEN_UNAUTHORIZED ${at('GET', '/api/v2/events/offsets')} reason="a token that was not signed by this node"`,
    `INFO api: request refused: 401 ERR_TOKEN_INVALID ${at('GET', '/api/v2/events/offsets')} reason="a malformed token"`,
    `INFO api: request refused: 403 CORS ${at('OPTIONS', '/api/v2/events/offsets')} cause="request-method not allowed"`,
    `INFO api: request refused: 400 ERR_BAD_REQUEST ${at('POST', '/api/v2/events/publish')} app=com.example.test reason="a malformed request" cause="missing field \`data\` at line 1 column 15"`,
    `INFO api: request refused: 405 ERR_METHOD_NOT_ALLOWED ${at('DELETE', '/api/v2/events/publish')} reason="a known path with an unsupported method"`,
  ])
  for (const text of ['secret', 'access_token', token.slice(0, 40)]) assert.ok(!log.join('').includes(text), text)
})

test('a refused WebSocket is logged without its token', async (t) => {
  const { url, log } = await startNode(t)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v2/events?some-secret`)
  await new Promise((resolve) => socket.addEventListener('error', resolve))
  const [line] = await linesLike(log, /request refused/, 1)
  assert.equal(
    line,
    'INFO api: request refused: 401 ERR_TOKEN_INVALID method=GET path=/api/v2/events remote=127.0.0.1 reason="a malformed token"',
  )
})

test('refused requests of a WebSocket are logged with code, app, reason and cause, without their contents', async (t) => {
  const { url, token, log } = await startNode(t)
  const socket = await TestSocket.open(t, { url, token })
  const refused: [service: string, payload: unknown][] = [
    ['publish', { 'my secret': 1 }],
    ['offsets', 'my secret'],
    ['query', { query: "FROM 'my secret' SELECT", order: 'asc' }],
    ['subscribe', { query: "FROM 'x'", lowerBound: { 'my secret': 1 } }],
    ['my secret', null],
  ]
  for (const [i, [service, payload]] of [...refused, ...refused].entries()) {
    socket.request(i, service, payload)
    while ((await socket.take()).type !== 'error');
  }
  const [publish, unknown, ...more] = await linesLike(log, /request refused/, 2)
  const by = 'remote=127.0.0.1 app=com.example.test'
  assert.deepEqual(
    [publish, unknown, more],
    [
      `INFO api: request refused: 400 ERR_BAD_REQUEST service=publish ${by} reason="a malformed request" cause="missing field \`data\` at line 1 column 15"`,
      `INFO api: request refused: 404 ERR_NOT_FOUND ${by} reason="an unknown path" cause="an unknown service: there are offsets, publish, query, subscribe, subscribe_monotonic"`,
      [],
    ],
  )
  for (const text of ['secret', token.slice(0, 40)]) assert.ok(!log.join('').includes(text), text)
})

for (const [service, payload] of [
  ['query', { query: "FROM 'my secret' SELECT", order: 'asc' }],
  ['subscribe', { query: "FROM 'x'", lowerBound: { 'my secret': 1 } }],
] as const)
  test(`the cause of a refused ${service} request that quotes its contents is not logged`, async (t) => {
    const { url, token, log } = await startNode(t)
    const socket = await TestSocket.open(t, { url, token })
    socket.request(1, service, payload)
    assert.match(JSON.stringify(await socket.take()), /my secret/)
    const lines = await linesLike(log, /request refused/, 1)
    assert.match(lines[0] ?? '', new RegExp(`service=${service} .* reason="a malformed request"$`))
    assert.ok(!log.join('').includes('secret'))
  })

test('successful requests and readiness checks are not logged at INFO', async (t) => {
  const { call, log } = await startNode(t)
  await call('/api/v2/node/info')
  await call('/readyz')
  assert.ok(!log.some((line) => /refused/.test(line)))
})

test('an issued token is logged with its app, once per app', async (t) => {
  const { url, log, token } = await startNode(t)
  const ask = async (body: object): Promise<Response> =>
    fetch(`${url}/api/v2/auth`, { method: 'POST', headers: json, body: JSON.stringify(body) })
  for (let i = 0; i < 3; i++) await ask(manifest)
  await ask({ ...manifest, appId: 'com.example.other', version: 'x'.repeat(1000) })
  const lines = await linesLike(log, /AUTH/, 2)
  assert.equal(lines.length, 2)
  const good = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
  assert.match(
    lines[0] ?? '',
    new RegExp(
      `^INFO AUTH: token issued for com\\.example\\.test 1\\.0 \\(trial\\), good until ${good} displayName=Test remote=127\\.0\\.0\\.1$`,
    ),
  )
  assert.match(lines[1] ?? '', /^INFO AUTH: token issued for com\.example\.other x{64}… \(trial\)/)
  assert.ok(!log.join('').includes(token.slice(0, 40)))
})

test('an app that is refused a token is logged with the reason', async (t) => {
  const { url, log } = await startNode(t)
  const body = JSON.stringify({ ...manifest, appId: 'com.actyx' })
  assert.equal((await fetch(`${url}/api/v2/auth`, { method: 'POST', headers: json, body })).status, 400)
  const [, line] = await linesLike(log, /AUTH/, 2)
  assert.match(
    line ?? '',
    /^INFO AUTH: no token for com\.actyx 1\.0: Invalid request\. The app ID 'com\.actyx' is the node's own/,
  )
})
