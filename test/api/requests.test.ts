import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { eventsIn, exchange, nodeId, startApi } from '../support/api.ts'

async function errorOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { code: string }).code]
}

test('requests are checked in the order of the specification', async (t) => {
  const { url, token, store } = await startApi(t)
  const path = `${url}/api/v2/events/publish`
  const stored = (await eventsIn(store)).length
  const request = (method: string, headers: Record<string, string>) =>
    fetch(path, { method, headers, ...(method === 'GET' ? {} : { body: 'rubbish' }) })
  const bad = { accept: 'text/html', 'content-type': 'text/plain' }
  const authorization = `Bearer ${token}`
  assert.deepEqual(await errorOf(await request('GET', bad)), [405, 'ERR_METHOD_NOT_ALLOWED'])
  assert.deepEqual(await errorOf(await request('POST', bad)), [401, 'ERR_MISSING_AUTH_HEADER'])
  assert.deepEqual(await errorOf(await request('POST', { ...bad, authorization })), [406, 'ERR_NOT_ACCEPTABLE'])
  const accepted = { ...bad, authorization, accept: 'text/html, */*' }
  assert.deepEqual(await errorOf(await request('POST', accepted)), [415, 'ERR_UNSUPPORTED_MEDIA_TYPE'])
  const typed = { authorization, 'content-type': 'application/json; charset=utf-8' }
  assert.deepEqual(await errorOf(await request('POST', typed)), [400, 'ERR_BAD_REQUEST'])
  assert.equal((await eventsIn(store)).length, stored)
})

test('Accept is compared without quality values and media ranges', async (t) => {
  const { call } = await startApi(t)
  const statuses = async (...values: string[]) => {
    const responses = values.map((accept) => call('/api/v2/events/offsets', { headers: { accept } }))
    return (await Promise.all(responses)).map(({ status }) => status)
  }
  assert.deepEqual(await statuses('*/*', 'application/json', 'text/html , APPLICATION/JSON'), [200, 200, 200])
  assert.deepEqual(await statuses('application/*', 'application/json;q=0.9', 'text/plain'), [406, 406, 406])
  const refused = await call('/api/v2/events/offsets', { headers: { accept: 'text/plain' } })
  const { message } = (await refused.json()) as { message: string }
  const only = 'the resource is only capable of generating content of the following type(s): */*, application/json.'
  assert.equal(message, `Content with type 'text/plain' was requested but ${only}`)
})

test('a missing Content-Type means JSON, and another one is rejected with 415', async (t) => {
  const { url, token } = await startApi(t)
  const port = Number(new URL(url).port)
  const status = async (type: string) => {
    const head = `POST /api/v2/events/publish?access_token=${token} HTTP/1.1\r\nHost: localhost\r\n${type}`
    const response = await exchange(port, `${head}Connection: close\r\nContent-Length: 11\r\n\r\n{"data":[]}`)
    return response.slice(9, 12)
  }
  assert.equal(await status(''), '200')
  assert.equal(await status('Content-Type: Application/JSON ; charset=x\r\n'), '200')
  for (const type of ['application/x-www-form-urlencoded', 'application/jsonx', 'rubbish', ''])
    assert.equal(await status(`Content-Type: ${type}\r\n`), '415')
})

test('publish responds in the order of its events, and offsets include them', async (t) => {
  const { publish, call } = await startApi(t, { routes: [{ from: "'a'", into: 'one' }] })
  const response = await publish(
    '{"data":[{"tags":["a"],"payload":1},{"tags":[],"payload":2},{"tags":["a"],"payload":3}]}',
  )
  assert.equal(response.headers.get('content-type'), 'application/json')
  const { data } = (await response.json()) as { data: { lamport: number; stream: string; offset: number }[] }
  assert.deepEqual(
    data.map(({ lamport, stream, offset }) => [lamport, stream, offset]),
    [
      [5, `${nodeId}-1`, 0],
      [6, `${nodeId}-0`, 5],
      [7, `${nodeId}-1`, 1],
    ],
  )
  const offsets = await call('/api/v2/events/offsets/')
  assert.equal(offsets.headers.get('cache-control'), 'no-store')
  assert.deepEqual(await offsets.json(), { present: { [`${nodeId}-0`]: 5, [`${nodeId}-1`]: 1 }, toReplicate: {} })
})

test('pipelined bodies of all sizes are read intact', async (t) => {
  const { url, token, store } = await startApi(t)
  const letters = [...'abcdefgh']
  const requests = letters.map((letter, i) => {
    // The last bodies are larger than a read from the socket.
    const body = JSON.stringify({ data: [{ tags: ['together'], payload: letter.repeat(40 * 4 ** i) }] })
    const close = i === letters.length - 1 ? 'Connection: close\r\n' : ''
    return `POST /api/v2/events/publish?access_token=${token} HTTP/1.1\r\nHost: localhost\r\n${close}Content-Length: ${body.length}\r\n\r\n${body}`
  })
  const responses = await exchange(Number(new URL(url).port), requests.join(''))
  assert.equal(responses.match(/HTTP\/1\.1 200/g)?.length, letters.length)
  const lines = (await eventsIn(store)).map((line) => JSON.parse(line) as { payload: string; tags: string[] })
  assert.deepEqual(
    lines.filter(({ tags }) => tags.includes('together')).map(({ payload }) => payload),
    letters.map((letter, i) => letter.repeat(40 * 4 ** i)),
  )
})

test('a plain GET request for the WebSocket endpoint is rejected with 400', async (t) => {
  const { url } = await startApi(t)
  assert.deepEqual(await errorOf(await fetch(`${url}/api/v2/events?x`)), [400, 'ERR_BAD_REQUEST'])
})

test('a Host header with an unknown name is rejected with 403', async (t) => {
  const { url } = await startApi(t, { hosts: ['Factory.example'] })
  const port = Number(new URL(url).port)
  const status = async (host: string) =>
    (await exchange(port, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).slice(9, 12)
  const ours = ['127.0.0.1', '10.0.0.7:4454', '[::1]:4454', 'localhost', 'LOCALHOST.:1', 'x.actyx.localhost']
  for (const host of [...ours, hostname(), 'factory.example:80']) assert.equal(await status(host), '200', host)
  for (const host of ['example.com', 'localhost.example.com', '127.0.0.1.example.com', 'xlocalhost', '[::1', ''])
    assert.equal(await status(host), '403', host)
})

test('an absolute request target overrides the Host header, and a missing host is rejected with 400', async (t) => {
  const { url } = await startApi(t)
  const port = Number(new URL(url).port)
  const send = (head: string) => exchange(port, `${head}\r\nConnection: close\r\n\r\n`)
  const status = async (head: string) => (await send(head)).slice(9, 12)
  for (const target of ['http://localhost/healthz', 'HTTP://127.0.0.1:4454/healthz?x', '/healthz'])
    assert.equal(await status(`GET ${target} HTTP/1.1\r\nHost: localhost`), '200', target)
  // The host in the target takes precedence.
  assert.equal(await status('GET http://localhost/healthz HTTP/1.1\r\nHost: example.com'), '200')
  assert.equal(await status('GET http://example.com/healthz HTTP/1.1\r\nHost: localhost'), '403')
  assert.equal(await status('GET http://localhost HTTP/1.1\r\nHost: localhost'), '404')
  assert.equal(await status('GET /healthz HTTP/1.0'), '200')
  const refused = await send('GET /healthz HTTP/1.1')
  assert.match(
    refused,
    /^HTTP\/1.1 400 [\s\S]*"code":"ERR_BAD_REQUEST","message":"Invalid request. The Host header is missing."/,
  )
})

test('CORS allows every origin by default, for all methods of the API', async (t) => {
  const { url } = await startApi(t)
  const preflight = (headers: Record<string, string>) =>
    fetch(`${url}/any/path`, { method: 'OPTIONS', headers: { origin: 'http://a.example', ...headers } })
  const allowed = await preflight({
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'Authorization, content-type,accept',
  })
  assert.equal(allowed.status, 200)
  assert.equal(await allowed.text(), '')
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'http://a.example')
  assert.equal(allowed.headers.get('access-control-allow-methods'), 'GET, POST, PUT, DELETE')
  assert.equal(allowed.headers.get('access-control-allow-headers'), 'authorization, content-type, accept')
  const method = await preflight({ 'access-control-request-method': 'PATCH' })
  assert.deepEqual([method.status, await method.text()], [403, 'CORS request forbidden: request-method not allowed'])
  const header = await preflight({ 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-a' })
  assert.deepEqual([header.status, await header.text()], [403, 'CORS request forbidden: header not allowed'])
  for (const path of ['/api/v2/node/id', '/nothing']) {
    const response = await fetch(url + path, { headers: { origin: 'http://a.example' } })
    assert.equal(response.headers.get('access-control-allow-origin'), 'http://a.example')
  }
  const plain = await fetch(`${url}/api/v2/events/offsets`, { method: 'OPTIONS' })
  assert.equal(plain.status, 405)
  assert.equal(plain.headers.get('access-control-allow-origin'), null)
})

test('a CORS allowlist rejects other origins, but not the own origin', async (t) => {
  const { url } = await startApi(t, { corsOrigins: ['https://good.example'] })
  const status = async (origin: string) => (await fetch(`${url}/healthz`, { headers: { origin } })).status
  assert.equal(await status('https://good.example'), 200)
  assert.equal(await status(url), 200)
  for (const origin of ['https://evil.example', 'http://good.example', 'null']) assert.equal(await status(origin), 403)
})
