import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifest, nodeId, startApi } from '../support/api.ts'

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/v2/auth`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })

test('a token for a manifest is accepted by every endpoint', async (t) => {
  const { url } = await startApi(t)
  const response = await post(url, JSON.stringify({ ...manifest, extra: [1], signature: null }))
  assert.equal(response.status, 200)
  const { token } = (await response.json()) as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  for (const path of ['/api/v2/node/info', '/api/v2/events/offsets'])
    assert.equal((await fetch(url + path, { headers })).status, 200)
})

test('a malformed manifest is rejected with 400 and the reason', async (t) => {
  const { url } = await startApi(t)
  const cases = [
    ['{', 'Invalid request. EOF while parsing: key must be a string at line 1 column 1'],
    ['[]', 'Invalid request. invalid type: sequence, expected an object'],
    ['{"appId":"a","displayName":"A"}', 'Invalid request. missing field `version`'],
    ['{"displayName":"A","version":"1"}', 'Invalid request. missing field `appId`'],
    [
      '{"appId":1,"displayName":"A","version":"1"}',
      'Invalid request. invalid type: number, expected a string at `appId`',
    ],
    ['{"appId":"","displayName":"A","version":"1"}', 'Invalid request. expected non-empty string at `appId`'],
    ...['A', 'a..b', '.a', 'a.', 'a b', 'ä'].map((appId) => [
      JSON.stringify({ ...manifest, appId }),
      'Invalid request. appId needs to be a valid DNS name at `appId`',
    ]),
  ] as const
  for (const [body = '', message] of cases) {
    const response = await post(url, body)
    assert.equal(response.status, 400)
    assert.deepEqual(await response.json(), { code: 'ERR_BAD_REQUEST', message })
  }
  const signed = await post(url, JSON.stringify({ ...manifest, signature: 'x' }))
  assert.equal(((await signed.json()) as { code: string }).code, 'ERR_MANIFEST_INVALID')
})

test('a token is read from the query string first, then from the Authorization header', async (t) => {
  const { url, token } = await startApi(t)
  const offsets = (query: string, authorization?: string) =>
    fetch(`${url}/api/v2/events/offsets${query}`, { headers: authorization === undefined ? {} : { authorization } })
  const accepted = [
    await offsets('', `Bearer ${token}`),
    await offsets('', `Bearer   ${token} rest`),
    await offsets(`?access_token=${token}`),
    await offsets(`?x=1&access_token=${token}&y`),
    await offsets(`?access_token=${encodeURIComponent(token)}`, 'Basic x'),
  ]
  assert.deepEqual(
    accepted.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  const rejected: [Response, string, string][] = [
    [await offsets(''), 'ERR_MISSING_AUTH_HEADER', '"Authorization" header is missing.'],
    [await offsets('?token=x'), 'ERR_MISSING_AUTH_HEADER', '"Authorization" header is missing.'],
    [
      await offsets('', `bearer ${token}`),
      'ERR_UNSUPPORTED_AUTH_TYPE',
      `Unsupported authentication type 'bearer'. Only "Bearer" is supported.`,
    ],
    [
      await offsets('', 'Bearer '),
      'ERR_TOKEN_INVALID',
      "Invalid token: ''. Missing token bytes. Please provide a valid bearer token.",
    ],
    [
      await offsets('?access_token=%ZZ', `Bearer ${token}`),
      'ERR_TOKEN_INVALID',
      "Invalid token: '%ZZ'. Cannot parse token bytes. Please provide a valid bearer token.",
    ],
  ]
  for (const [response, code, message] of rejected) {
    assert.equal(response.status, 401)
    assert.deepEqual(await response.json(), { code, message })
  }
})

test('the node ID is served without a token, for every method and uncached', async (t) => {
  const { url } = await startApi(t)
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const response = await fetch(`${url}/api/v2/node/id`, { method, headers: { authorization: 'rubbish' } })
    assert.equal(response.status, 200)
    assert.equal(await response.text(), nodeId)
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-cache')
  }
  const notAcceptable = await fetch(`${url}/api/v2/node/id`, { headers: { accept: 'application/json' } })
  assert.equal(notAcceptable.status, 406)
})

test('the node information has the schema that clients check', async (t) => {
  const { call } = await startApi(t)
  const response = await call('/api/v2/node/info', { headers: { accept: 'text/html' } })
  const { connectedNodes, uptime, version, swarmState } = (await response.json()) as {
    connectedNodes: number
    uptime: { secs: number; nanos: number }
    version: string
    swarmState: unknown
  }
  assert.equal(connectedNodes, 0)
  assert.ok(Number.isInteger(uptime.secs) && Number.isInteger(uptime.nanos) && uptime.nanos < 1e9)
  assert.match(version, /^\d+\.\d+\.\d+-/)
  assert.deepEqual(swarmState, { peersStatus: { [nodeId]: 'LowLatency' } })
})
