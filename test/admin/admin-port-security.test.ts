import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type AdminParts, adminRoutes } from '../../src/admin/routes/index.ts'
import { limits } from '../../src/base/limits.ts'
import { adminSignInMessage, formatPublicKey, KeyPair, nodeCertificate, nodeIdOf } from '../../src/identity/index.ts'
import type { Listening } from '../../src/listening/listen.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { adminPort, ask, node, signIn } from '../support/admin.ts'
import { VirtualClock, VirtualTimers } from '../support/virtual-runtime.ts'

const anna = new KeyPair(Buffer.alloc(32, 2))
const key = formatPublicKey(anna.publicKey)

/** All routes behind a session, with a path for those that take a part of it. */
function routes(): (readonly [method: string, path: string])[] {
  const parts = { startedUnix: 0, clock: systemRuntime.clock } as unknown as AdminParts
  return adminRoutes(parts).flatMap(({ path, methods }) =>
    Object.keys(methods).map((method) => [method, path.slice('/api/v2/admin'.length).replace('*', 'x')] as const),
  )
}

async function tokenOf(at: Listening): Promise<string> {
  return (await signIn(at, anna)).body.token
}

test('no change of the settings removes the last user, unless it is forced', async (t) => {
  const { at, settings } = await adminPort(t)
  let token = await tokenOf(at)
  const changes: [method: string, path: string, body?: string][] = [
    ['PUT', '/settings?', '{}'],
    ['PUT', '/settings?scope=/admin', '{"displayName":"a"}'],
    ['PUT', '/settings?scope=/admin/authorizedUsers', '[]'],
    ['PATCH', '/settings?scope=/', '{"admin":null}'],
    ['PATCH', '/settings?scope=/admin', '{"authorizedUsers":[]}'],
    ['DELETE', '/settings?scope=/'],
    ['DELETE', '/settings?scope=/admin'],
    ['DELETE', '/settings?scope=/admin/authorizedUsers'],
    ['DELETE', '/settings?scope=/admin/authorizedUsers/0'],
    ['POST', '/settings/rollback?', '{"revision":0}'],
    ['DELETE', `/users/${encodeURIComponent(key)}?`],
  ]
  for (const [method, path, body = ''] of changes) {
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
    const asked = { token, body, headers }
    for (const more of ['', '&dryRun=true']) {
      const refused = await ask(at, method, path + more, asked)
      assert.deepEqual([refused.status, refused.body.code], [400, 'ERR_INVALID_INPUT'], `${method} ${path}`)
      assert.match(refused.body.message, /last authorized user.*--force/)
    }
    assert.deepEqual(settings.get(['admin', 'authorizedUsers']), [key])
    assert.equal((await ask(at, method, `${path}&force=true`, asked)).status, 200, `${method} ${path}`)
    assert.deepEqual(settings.get(['admin', 'authorizedUsers']), [])
    token = await tokenOf(at)
  }
})

test('other websites are refused on every route, also with the session of a user', async (t) => {
  const { at } = await adminPort(t)
  const token = await tokenOf(at)
  for (const [method, path] of [...routes(), ['DELETE', '/session'] as const, ['GET', '/health'] as const]) {
    const refused = await ask(at, method, path, { token, headers: { origin: 'http://evil.example' } })
    const code = method === 'HEAD' ? undefined : 'ERR_ORIGIN_NOT_ALLOWED'
    assert.deepEqual([refused.status, refused.body.code], [403, code], `${method} ${path}`)
    assert.equal(refused.headers['access-control-allow-origin'], undefined)
  }
  assert.equal((await ask(at, 'GET', '/node', { token })).status, 200)
})

test('challenges are refused when they are used again, and when they have expired', async (t) => {
  const clock = new VirtualClock()
  const { at } = await adminPort(t, undefined, { clock })
  const first = await tokenOf(at)
  const signed = async () => {
    const { challenge } = (await ask(at, 'POST', '/session/challenge', { body: JSON.stringify({ publicKey: key }) }))
      .body
    const message = adminSignInMessage(nodeIdOf(node.publicKey), challenge)
    const signature = Buffer.from(anna.sign(message)).toString('base64')
    return JSON.stringify({ publicKey: key, challenge, signature })
  }
  const used = await signed()
  assert.equal((await ask(at, 'POST', '/session', { body: used })).status, 200)
  const late = await signed()
  clock.advance(limits.challengeMs)
  for (const body of [used, late])
    assert.equal((await ask(at, 'POST', '/session', { body })).body.code, 'ERR_USER_UNAUTHENTICATED')
  clock.advance(limits.sessionMs)
  assert.equal((await ask(at, 'GET', '/node', { token: first })).body.code, 'ERR_USER_UNAUTHENTICATED')
})

test('an open stream ends with its session', async (t) => {
  const clock = new VirtualClock()
  const timers = new VirtualTimers(clock)
  const { at } = await adminPort(t, undefined, { clock, timers })
  const token = await tokenOf(at)
  const url = `http://127.0.0.1:${at.port}/api/v2/admin/logs?follow=true`
  const { body } = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const reader = body?.getReader()
  assert.ok((await reader?.read())?.value?.length)
  timers.advance(limits.sessionMs)
  await assert.rejects(async () => {
    while ((await reader?.read())?.done === false);
  }, /terminated/)
})

/** Opens connections that send nothing. */
async function idleConnections(t: TestContext, { address, port }: Listening, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = connect(port, address).on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    sockets.push(socket)
  }
  return sockets
}

test('idle connections keep no user out, and close no connection with a session', async (t) => {
  for (const certificate of [undefined, nodeCertificate(node, systemRuntime.random)]) {
    const { at, log } = await adminPort(t, certificate, { maxConnections: 6 })
    const secure = certificate !== undefined
    const agent = secure ? new (await import('node:https')).Agent({ keepAlive: true }) : new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const token = (await signIn(at, anna, { secure })).body.token
    assert.equal((await ask(at, 'GET', '/node', { token, secure, agent })).status, 200)
    const [connection] = Object.values(agent.freeSockets).flat()
    const [first] = await idleConnections(t, at, 10)
    assert.ok(first && connection)
    if (!first.destroyed) await once(first, 'close')
    assert.equal((await signIn(at, anna, { secure })).status, 200)
    assert.equal((await ask(at, 'GET', '/node', { token, secure, agent })).status, 200)
    assert.equal(connection.destroyed, false)
    assert.ok(log.some((line) => line.includes('without a session to make room')))
  }
})
