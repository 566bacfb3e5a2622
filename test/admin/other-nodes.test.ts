import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Inspected } from '../../src/admin/index.ts'
import {
  adminSignInMessage,
  formatPublicKey,
  KeyPair,
  nodeCertificate,
  nodeIdOf,
  peerIdOf,
} from '../../src/identity/index.ts'
import type { Listening } from '../../src/listening/listen.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { adminPort, ask, node, signIn } from '../support/admin.ts'

const [anna, bert] = [new KeyPair(Buffer.alloc(32, 2)), new KeyPair(Buffer.alloc(32, 3))]
const keyOf = (user: KeyPair): string => formatPublicKey(user.publicKey)
const otherKey = new KeyPair(Buffer.alloc(32, 9))
const otherId = nodeIdOf(otherKey.publicKey)

/** A node, and another one that it knows at loopback, with TLS. */
async function twoNodes(t: TestContext, { certificateOf = otherKey, users = [bert] } = {}) {
  const certificate = nodeCertificate(certificateOf, systemRuntime.random)
  const other = await adminPort(t, certificate, { key: otherKey })
  if (users.length > 0) await other.settings.set(['admin', 'authorizedUsers'], users.map(keyOf), 'test')
  const peer = { peerId: peerIdOf(otherKey.publicKey), addrs: ['/ip4/127.0.0.1/tcp/4001'] }
  const inspect = (): Inspected => ({ connections: [], knownPeers: [peer] }) as unknown as Inspected
  const { at } = await adminPort(t, undefined, { inspect })
  const token = (await signIn(at, anna)).body.token as string
  return { at, other, token, relayed: relaying(at, other.at, token) }
}

function relaying(at: Listening, other: Listening, token: string) {
  return (method: string, path: string, { body = '', otherToken = '', id = otherId as string } = {}) => {
    const headers = otherToken === '' ? {} : { 'shoal-node-authorization': `Bearer ${otherToken}` }
    const mark = path.includes('?') ? '&' : '?'
    const target = `/nodes/${encodeURIComponent(id)}${path}${mark}adminPort=${other.port}`
    return ask(at, method, target, { token, body, headers })
  }
}

type Relayed = ReturnType<typeof relaying>

/** Signs in to the other node, through the first. */
async function signInThrough(relayed: Relayed, user: KeyPair, code?: string) {
  const publicKey = keyOf(user)
  const { body } = await relayed('POST', '/session/challenge', { body: JSON.stringify({ publicKey }) })
  assert.equal(typeof body.challenge, 'string', JSON.stringify(body))
  const { challenge, nodeId } = body as { challenge: string; nodeId: typeof otherId }
  assert.deepEqual([nodeId, challenge.split('.')[0]], [otherId, 'tls'])
  const signature = Buffer.from(user.sign(adminSignInMessage(nodeId, challenge))).toString('base64')
  return await relayed('POST', '/session', { body: JSON.stringify({ publicKey, challenge, signature, code }) })
}

test('a user of both nodes works on the other one with a session there', async (t) => {
  const { relayed, other } = await twoNodes(t, { users: [bert] })
  const { token } = (await signInThrough(relayed, bert)).body
  assert.equal((await relayed('GET', '/node', { otherToken: token })).body.nodeId, otherId)
  const name = { otherToken: token, body: '"Press 8"' }
  assert.equal((await relayed('PUT', '/settings?scope=/admin/displayName', name)).status, 200)
  assert.equal(other.settings.get(['admin', 'displayName']), 'Press 8')
  assert.equal((await relayed('GET', '/nothing', { otherToken: token })).status, 404)
})

test('the key list of the other node decides: a session on the first one opens nothing there', async (t) => {
  const { relayed, other, token, at } = await twoNodes(t, { users: [bert] })
  assert.equal((await signInThrough(relayed, anna)).body.code, 'ERR_UNAUTHORIZED')
  for (const otherToken of ['', token, 'x'])
    assert.equal((await relayed('GET', '/node', { otherToken })).body.code, 'ERR_USER_UNAUTHENTICATED')
  const otherToken = (await signInThrough(relayed, bert)).body.token
  await other.settings.set(['admin', 'authorizedUsers'], [keyOf(anna)], 'test')
  assert.equal((await relayed('GET', '/node', { otherToken })).body.code, 'ERR_UNAUTHORIZED')
  const path = `/nodes/${encodeURIComponent(otherId)}/node`
  assert.equal((await ask(at, 'GET', path)).body.code, 'ERR_USER_UNAUTHENTICATED', 'without a session on the first')
})

test('a fresh node on the same machine cannot be claimed through another one', async (t) => {
  const { relayed, other } = await twoNodes(t, { users: [] })
  assert.equal((await signInThrough(relayed, anna)).body.code, 'ERR_UNAUTHORIZED')
  assert.deepEqual(other.settings.get(['admin', 'authorizedUsers']), [])
  const [, code] = /one-time code (\S+)\./.exec(other.log.join('')) ?? []
  assert.equal((await signInThrough(relayed, anna, code)).body.firstUser, true)
})

test('a request is forwarded once, and only to a known node that proves its identity', async (t) => {
  const { relayed, other } = await twoNodes(t, { certificateOf: bert })
  const wrong = await relayed('GET', '/health')
  assert.equal(wrong.body.code, 'ERR_NODE_UNREACHABLE')
  assert.match(wrong.body.message, /it is not the node/)
  assert.ok(other.log.every((line) => !line.includes('request')))
  const unknown = await relayed('GET', '/node', { id: nodeIdOf(anna.publicKey) })
  assert.match(unknown.body.message, /knows no address/)
  assert.equal((await relayed('GET', '/node', { id: 'x' })).body.code, 'ERR_INVALID_INPUT')
  assert.equal((await relayed('GET', `/nodes/${nodeIdOf(node.publicKey)}/node`)).status, 404)
})
