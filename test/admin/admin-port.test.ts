import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { type AdminParts, adminRoutes } from '../../src/admin/routes/index.ts'
import type { ServerCertificate } from '../../src/api/index.ts'
import { formatPublicKey, KeyPair, nodeCertificate, nodeIdOf, nodeOfCertificate } from '../../src/identity/index.ts'
import type { Listening } from '../../src/listening/listen.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type AdminAsked, adminPort, ask, node, signIn } from '../support/admin.ts'
import type { Answer } from '../support/control.ts'

const [anna, bert] = [new KeyPair(Buffer.alloc(32, 2)), new KeyPair(Buffer.alloc(32, 3))]
const keyOf = (user: KeyPair): string => formatPublicKey(user.publicKey)
const pathOf = (user: KeyPair): string => `/users/${encodeURIComponent(keyOf(user))}`

async function started(t: TestContext, certificate?: ServerCertificate) {
  const port = await adminPort(t, certificate)
  return { ...port, as: session(port.at) }
}

/** Sends requests with the token of a user who signs in first. */
function session(at: Listening) {
  return async (user: KeyPair) => {
    const { body } = await signIn(at, user)
    const { token } = body as { token: string }
    return (method: string, path: string, asked: AdminAsked = {}): Promise<Answer> =>
      ask(at, method, path, { token, ...asked })
  }
}

test('every route is refused without a session, with a wrong one, and with that of a removed user', async (t) => {
  const { at, as, settings } = await started(t)
  const asAnna = await as(anna)
  assert.equal((await asAnna('POST', '/users', { body: JSON.stringify({ publicKey: keyOf(bert) }) })).status, 200)
  assert.equal((await asAnna('DELETE', pathOf(anna))).status, 200)
  const parts = { startedUnix: 0, clock: systemRuntime.clock } as unknown as AdminParts
  const routes = adminRoutes(parts).flatMap(({ path, methods }) =>
    Object.keys(methods).map((method) => [method, path.slice('/api/v2/admin'.length)] as const),
  )
  assert.ok(routes.length > 12)
  for (const [method, path] of [...routes, ['DELETE', '/session'] as const]) {
    for (const token of [undefined, '', 'x']) {
      const refused = await ask(at, method, path, token === undefined ? {} : { token })
      const code = method === 'HEAD' ? undefined : 'ERR_USER_UNAUTHENTICATED'
      assert.deepEqual([refused.status, refused.body.code], [401, code], `${method} ${path}`)
    }
  }
  // The first request of the removed user ends the session.
  assert.equal((await asAnna('GET', '/node')).body.code, 'ERR_UNAUTHORIZED')
  for (const [method, path] of routes) assert.equal((await asAnna(method, path)).status, 401)
  assert.deepEqual(settings.get(['admin', 'authorizedUsers']), [keyOf(bert)])
})

test('the owner of the node claims it by signing in, is logged, and changes settings by name', async (t) => {
  const { at, as, log } = await started(t)
  const first = await signIn(at, anna)
  assert.equal(first.body.firstUser, true)
  assert.ok(log.some((line) => line.includes(`${keyOf(anna)} has been added as the first authorized user`)))
  const other = await signIn(at, bert)
  assert.deepEqual([other.status, other.body.code], [403, 'ERR_UNAUTHORIZED'])
  const asAnna = await as(anna)
  assert.equal((await asAnna('GET', '/node')).body.nodeId, nodeIdOf(node.publicKey))
  assert.equal((await asAnna('PUT', '/settings?scope=/admin/displayName', { body: '"Press 7"' })).status, 200)
  const [{ origin }] = (await asAnna('GET', '/settings/history')).body
  assert.equal(origin, `admin port, user ${keyOf(anna)}`)
  assert.equal((await asAnna('DELETE', '/session')).status, 200)
  assert.equal((await asAnna('GET', '/node')).status, 401)
})

test('websites are refused: by their origin, and by the host name that they let point here', async (t) => {
  const { at, settings } = await started(t)
  const body = JSON.stringify({ publicKey: keyOf(anna) })
  for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${at.port + 1}`, 'http://localhost']) {
    const refused = await ask(at, 'POST', '/session/challenge', { body, headers: { origin } })
    assert.deepEqual([refused.status, refused.body.code], [403, 'ERR_ORIGIN_NOT_ALLOWED'], origin)
    assert.equal(refused.headers['access-control-allow-origin'], undefined)
  }
  const preflight = { origin: 'http://evil.example', 'access-control-request-method': 'PUT' }
  assert.equal((await ask(at, 'OPTIONS', '/settings', { headers: preflight })).status, 403)
  const rebound = await ask(at, 'POST', '/session/challenge', { body, headers: { host: `evil.example:${at.port}` } })
  assert.deepEqual([rebound.status, rebound.body.code], [403, 'ERR_HOST_NOT_ALLOWED'])
  const own = { host: `localhost:${at.port}`, origin: `http://localhost:${at.port}` }
  assert.equal((await ask(at, 'POST', '/session/challenge', { body, headers: own })).status, 200)
  assert.deepEqual(settings.get(['admin', 'authorizedUsers']), [])
})

test('a proxy on this machine cannot claim the node', async (t) => {
  const { at } = await started(t)
  for (const header of ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip']) {
    const { status, body } = await signIn(at, anna, { headers: { [header]: '10.0.0.7' } })
    assert.deepEqual([status, body.code], [403, 'ERR_UNAUTHORIZED'])
  }
})

test('responses in progress are aborted when their user is removed and when the session ends', async (t) => {
  const { at, settings, as } = await started(t)
  await as(anna)
  const listed = async (...users: KeyPair[]) => settings.set(['admin', 'authorizedUsers'], users.map(keyOf), 'test')
  await listed(anna, bert)
  const tokenOf = async (user: KeyPair): Promise<string> => (await signIn(at, user)).body.token
  /** A request whose body does not come. */
  const slow = (token: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': 9 }
    const options = { host: at.address, port: at.port, path: '/api/v2/admin/users', method: 'POST', headers }
    const outgoing = request(options)
    outgoing.write('{')
    const status = once(outgoing, 'response').then(([response]) => response.statusCode)
    return Promise.race([status, once(outgoing, 'close')]).catch(() => 'broken off')
  }
  const removed = slow(await tokenOf(bert))
  const [first, second] = [await tokenOf(anna), await tokenOf(anna)]
  const ended = slow(first)
  const kept = slow(second)
  await ask(at, 'GET', '/node', { token: second })
  await listed(anna)
  // One whose head comes late is refused.
  assert.ok(['broken off', 403].includes((await removed) as string | number))
  assert.equal((await ask(at, 'DELETE', '/session', { token: first })).status, 200)
  assert.ok(['broken off', 401].includes((await ended) as string | number))
  assert.equal(await Promise.race([kept, ask(at, 'GET', '/node', { token: second }).then(() => 'open')]), 'open')
})

test('failed attempts are slowed down', async (t) => {
  const { at, as } = await started(t)
  await as(anna)
  let status = 0
  let tries = 0
  for (; status !== 429 && tries < 20; tries++) status = (await signIn(at, bert)).status
  const refused = await signIn(at, bert)
  assert.deepEqual([refused.body.code, refused.headers['retry-after']], ['ERR_TOO_MANY_ATTEMPTS', '10'])
  assert.equal((await signIn(at, anna)).status, 200)
})

test('malformed requests to sign in are refused by name', async (t) => {
  const { at } = await started(t)
  const refused: [path: string, body: string, status: number][] = [
    ['/session/challenge', '', 400],
    ['/session/challenge', '[]', 400],
    ['/session/challenge', '{}', 400],
    ['/session/challenge', '{"publicKey":7}', 400],
    ['/session/challenge', '{"publicKey":"x"}', 400],
    ['/session/challenge', `{"publicKey":"${'x'.repeat(5000)}"}`, 413],
    ['/session', '{"publicKey":"x"}', 400],
    ['/session', '{"publicKey":"x","challenge":"y","signature":"z"}', 401],
    ['/session', '{"publicKey":"x","challenge":"y","signature":"z","code":7}', 400],
  ]
  for (const [path, body, status] of refused) assert.equal((await ask(at, 'POST', path, { body })).status, status, body)
})

test('users are listed, added and removed', async (t) => {
  const { as } = await started(t)
  const asAnna = await as(anna)
  const add = (publicKey: unknown) => asAnna('POST', '/users', { body: JSON.stringify({ publicKey }) })
  assert.deepEqual((await asAnna('GET', '/users')).body, [keyOf(anna)])
  assert.deepEqual((await add(keyOf(bert))).body, [keyOf(anna), keyOf(bert)])
  const twice = await add(keyOf(bert))
  assert.equal(twice.status, 422)
  assert.match(twice.body.message, /UniqueItems condition is not met/)
  assert.equal((await add('x')).status, 422)
  assert.equal((await add(7)).status, 400)
  assert.deepEqual((await asAnna('DELETE', pathOf(bert))).body, [keyOf(anna)])
  assert.equal((await asAnna('DELETE', pathOf(bert))).status, 404)
  assert.equal((await asAnna('DELETE', '/users/%')).status, 400)
})

test('log lines are read by level and time', async (t) => {
  const { as } = await started(t)
  const asAnna = await as(anna)
  const read = async (query = ''): Promise<string[]> => {
    const { status, body } = await asAnna('GET', `/logs${query}`)
    assert.equal(status, 200)
    return String(body).split('\n').slice(0, -1)
  }
  const all = await read()
  assert.match(all.at(-1) ?? '', /"level":"INFO","message":"0\S+ has been added as the first authorized user"/)
  assert.deepEqual(await read('?level=warn'), [])
  assert.deepEqual(await read('?since=2020-01-01T00:00:00Z&level=INFO'), all)
  assert.deepEqual(await read('?level=trace'), all)
  assert.deepEqual(await read('?since=2200-01-01T00:00:00Z'), [])
  for (const query of ['?level=x', '?since=x', '?follow=x'])
    assert.equal((await asAnna('GET', `/logs${query}`)).body.code, 'ERR_INVALID_INPUT')
  assert.equal((await asAnna('GET', '/metrics')).status, 200)
})

test('a stream of log lines ends when its user is removed', async (t) => {
  const { at, settings } = await started(t)
  const { token } = (await signIn(at, anna)).body as { token: string }
  const url = `http://127.0.0.1:${at.port}/api/v2/admin/logs?follow=true`
  const { body } = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const lines = body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.match((await lines?.read())?.value ?? '', /has been added as the first authorized user/)
  await settings.set(['admin', 'authorizedUsers'], [keyOf(bert)], 'test')
  await assert.rejects(async () => {
    while ((await lines?.read())?.done === false);
  }, /terminated/)
})

test('health needs no session on this machine', async (t) => {
  const { at } = await started(t)
  assert.equal((await ask(at, 'GET', '/health')).status, 200)
  assert.equal((await ask(at, 'GET', '/ready')).status, 200)
})

test('with TLS the certificate proves the identity of the node, and plain HTTP gets no answer', async (t) => {
  const { at } = await started(t, nodeCertificate(node, systemRuntime.random))
  assert.equal((await signIn(at, anna, { secure: true })).body.firstUser, true)
  const socket = connect({ host: at.address, port: at.port, rejectUnauthorized: false })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  assert.equal(certificate && nodeOfCertificate(certificate), nodeIdOf(node.publicKey))
  await assert.rejects(ask(at, 'GET', '/health'))
  const malformed = connect({ host: at.address, port: at.port, rejectUnauthorized: false })
  malformed.end('nonsense\r\n\r\n')
  assert.match(String((await malformed.toArray())[0]), /^HTTP\/1\.1 400 /)
})
