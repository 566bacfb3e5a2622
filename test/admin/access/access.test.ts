import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access, type SignIn, type SignInConnection } from '../../../src/admin/access/access.ts'
import { limits } from '../../../src/base/limits.ts'
import { adminSignInMessage, formatPublicKey, KeyPair, type NodeId, nodeIdOf } from '../../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../../src/logging/index.ts'
import { Settings } from '../../../src/settings/index.ts'
import { memoryLog } from '../../support/settings-log.ts'
import { SeededRandom, VirtualClock } from '../../support/virtual-runtime.ts'

const nodeId = nodeIdOf(new KeyPair(Buffer.alloc(32, 1)).publicKey)
const [anna, bert] = [new KeyPair(Buffer.alloc(32, 2)), new KeyPair(Buffer.alloc(32, 3))]
const keyOf = (user: KeyPair): string => formatPublicKey(user.publicKey)
const scope = ['admin', 'authorizedUsers']

const ends = { localAddress: '127.0.0.1', localPort: 4458, remoteAddress: '127.0.0.1', remotePort: 5 }
const local: SignInConnection = { ...ends, socket: {}, transport: 'loopback', isForwarded: false }
const away = { localAddress: '10.0.0.1', remoteAddress: '10.0.0.2', transport: 'tls' } as const
const remote: SignInConnection = { ...local, ...away, socket: {} }

/** Access to a node of the user 1000. */
async function made({ users = [] as readonly KeyPair[], peer = 1000 as number | 'unknown' | (() => number) } = {}) {
  const clock = new VirtualClock()
  const lines: string[] = []
  const sink = { write: (line: string) => lines.push(line), flush: async () => {} }
  const settings = await Settings.open(memoryLog(), clock)
  if (users.length > 0) await settings.set(scope, users.map(keyOf), 'test')
  const access = new Access({
    nodeId,
    settings,
    log: new Logger(logOutput(textLine(false), sink, clock), 'admin'),
    clock,
    random: new SeededRandom('access'),
    ownUser: 1000,
    onSignOut: () => {},
    peerUser: async ({ remoteAddress }) => {
      if (remoteAddress !== '127.0.0.1' || peer === 'unknown') return undefined
      return typeof peer === 'number' ? peer : peer()
    },
  })
  const signed = async (user: KeyPair, connection: SignInConnection, node: NodeId = nodeId): Promise<SignIn> => {
    const { challenge } = await access.challenge(keyOf(user), connection)
    return { publicKey: keyOf(user), challenge, signature: signature(user, challenge, node) }
  }
  const code = (): string => /one-time code (\S+)\./.exec(lines.at(-1) ?? '')?.[1] ?? assert.fail('no code')
  return { access, settings, clock, lines, signed, code }
}

function signature(user: KeyPair, challenge: string, node: NodeId = nodeId): string {
  return Buffer.from(user.sign(adminSignInMessage(node, challenge))).toString('base64')
}

const unauthenticated = { code: 'ERR_USER_UNAUTHENTICATED' }
const unclaimed = { code: 'ERR_UNAUTHORIZED', message: /^Provided key is .* API\. This node has no .* --code <code>/ }
const unauthorized = { code: 'ERR_UNAUTHORIZED', message: 'Provided key is not authorized to access the API.' }

test('an authorized user signs in from anywhere, once per challenge', async () => {
  const { access, signed, clock } = await made({ users: [anna] })
  const request = await signed(anna, remote)
  const { token, expiresAt, firstUser } = await access.signIn(request, remote)
  assert.equal(firstUser, false)
  assert.equal(Date.parse(expiresAt), clock.now() / 1000 + limits.sessionMs)
  assert.equal(access.userOf(token), keyOf(anna))
  await assert.rejects(access.signIn(request, remote), unauthenticated)
  access.end(token)
  assert.throws(() => access.userOf(token), unauthenticated)
  assert.throws(() => access.userOf(undefined), unauthenticated)
})

test('an expired challenge and an expired session are refused', async () => {
  const { access, signed, clock } = await made({ users: [anna] })
  const request = await signed(anna, remote)
  clock.advance(limits.challengeMs)
  await assert.rejects(access.signIn(request, remote), unauthenticated)
  const { token } = await access.signIn(await signed(anna, remote), remote)
  clock.advance(limits.sessionMs)
  assert.throws(() => access.userOf(token), unauthenticated)
})

test('a signature for another node, of another key or of another challenge is refused', async () => {
  const { access, signed } = await made({ users: [anna] })
  const otherNode = nodeIdOf(bert.publicKey)
  await assert.rejects(access.signIn(await signed(anna, remote, otherNode), remote), unauthenticated)
  const request = await signed(anna, remote)
  const forged = [
    { ...request, signature: signature(bert, request.challenge) },
    { ...request, signature: '' },
    { ...request, signature: 'not base64' },
    { ...request, challenge: (await signed(anna, remote)).challenge },
    { ...request, challenge: (await signed(bert, remote)).challenge },
    { ...request, publicKey: keyOf(bert) },
  ]
  for (const one of forged) await assert.rejects(access.signIn(one, remote), unauthenticated)
  await assert.rejects(access.challenge('0x', remote), { code: 'ERR_INVALID_INPUT' })
})

test('a key that is not listed is refused, and one that was removed ends its open sessions', async () => {
  const { access, settings, signed } = await made({ users: [anna, bert] })
  const { token } = await access.signIn(await signed(anna, local), local)
  await settings.set(scope, [keyOf(bert)], 'test')
  assert.throws(() => access.userOf(token), unauthorized)
  await assert.rejects(access.signIn(await signed(anna, local), local), unauthorized)
  await settings.set(scope, [keyOf(anna), keyOf(bert)], 'test')
  assert.throws(() => access.userOf(token), unauthenticated)
  const again = await access.signIn(await signed(anna, local), local)
  await settings.set(scope, [keyOf(bert)], 'test')
  await settings.set(scope, [keyOf(anna), keyOf(bert)], 'test')
  assert.throws(() => access.userOf(again.token), unauthorized)
})

test('the first user is one of this machine with the rights of the node', async () => {
  for (const peer of [1000, 0]) {
    const { access, settings, signed, lines } = await made({ peer })
    const { token, firstUser } = await access.signIn(await signed(anna, local), local)
    assert.equal(firstUser, true)
    assert.equal(access.userOf(token), keyOf(anna))
    assert.deepEqual(settings.get(scope), [keyOf(anna)])
    assert.match(lines.at(-1) ?? '', /has been added as the first authorized user/)
    await assert.rejects(access.signIn(await signed(bert, local), local), unauthorized)
  }
})

test('another user of the machine, another machine and a proxy cannot claim a node', async () => {
  const cases: [peer: number | 'unknown', connection: SignInConnection][] = [
    [1001, local],
    ['unknown', local],
    [1000, remote],
    [1000, { ...local, isForwarded: true }],
  ]
  for (const [peer, connection] of cases) {
    const { access, settings, signed } = await made({ peer })
    await assert.rejects(access.signIn(await signed(anna, connection), connection), unclaimed)
    assert.deepEqual(settings.get(scope), [])
  }
})

test('a node is claimed over the connection whose owner was looked up before its challenge was sent', async () => {
  let peer = 1001
  const { access, settings, signed } = await made({ peer: () => peer })
  const early = await signed(anna, local)
  // Another process has the same port now.
  peer = 0
  await assert.rejects(access.signIn(early, local), unclaimed)
  const request = await signed(anna, local)
  await assert.rejects(access.signIn(request, { ...local, socket: {} }), unclaimed)
  assert.deepEqual(settings.get(scope), [])
  assert.equal((await access.signIn(request, local)).firstUser, true)
})

test('a signature that was made over a plain connection is worthless over TLS, and the other way round', async () => {
  const { access, signed } = await made({ users: [anna] })
  await assert.rejects(access.signIn(await signed(anna, local), remote), unauthenticated)
  await assert.rejects(access.signIn(await signed(anna, remote), local), unauthenticated)
  await access.signIn(await signed(anna, local), local)
})

test('the one-time code lets the first user in from anywhere, and no second one', async () => {
  const { access, signed, code } = await made()
  const typed = code().toLowerCase().replaceAll('-', ' ')
  const wrong = code().replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  await assert.rejects(access.signIn({ ...(await signed(anna, local)), code: wrong }, local), unclaimed)
  assert.equal((await access.signIn({ ...(await signed(anna, remote)), code: typed }, remote)).firstUser, true)
  await assert.rejects(access.signIn({ ...(await signed(bert, remote)), code: typed }, remote), unauthorized)
})

test('a node whose last user was removed has a new code, and the former user no access', async () => {
  const { access, settings, signed, code } = await made({ users: [anna] })
  const { token } = await access.signIn(await signed(anna, remote), remote)
  await settings.unset(scope, 'test')
  assert.throws(() => access.userOf(token), unauthorized)
  await assert.rejects(access.signIn(await signed(anna, remote), remote), unclaimed)
  const first = code()
  await settings.set(scope, [keyOf(anna)], 'test')
  await settings.unset(scope, 'test')
  assert.notEqual(code(), first)
  await assert.rejects(access.signIn({ ...(await signed(bert, remote)), code: first }, remote), unclaimed)
  assert.equal((await access.signIn({ ...(await signed(bert, remote)), code: code() }, remote)).firstUser, true)
})

test('of several who claim a node at once, one becomes its user', async () => {
  const { access, settings, signed } = await made()
  const users = Array.from({ length: 5 }, (_, i) => new KeyPair(Buffer.alloc(32, 10 + i)))
  const results = await Promise.allSettled(
    users.map(async (user) =>
      access.signIn(await signed(user, { ...local, socket: user }), { ...local, socket: user }),
    ),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal((settings.get(scope) as string[]).length, 1)
})

test('a claim is repeated when another setting was changed meanwhile', async () => {
  const { access, settings, signed } = await made()
  const claimed = access.signIn(await signed(anna, local), local)
  await settings.set(['admin', 'displayName'], 'Press 7', 'test')
  assert.equal((await claimed).firstUser, true)
  assert.equal(settings.get(['admin', 'displayName']), 'Press 7')
})

test('guesses are slowed down, and do not lock out a user who has the key', async () => {
  const { access, signed, clock, code } = await made()
  const guess = async () => access.signIn({ ...(await signed(bert, remote)), code: 'AAAA' }, remote)
  for (let i = 0; i < limits.failedSignIns; i++) await assert.rejects(guess(), unclaimed)
  await assert.rejects(guess(), { code: 'ERR_TOO_MANY_ATTEMPTS' })
  // Not even the right code counts now.
  const right = { ...(await signed(bert, remote)), code: code() }
  await assert.rejects(access.signIn(right, remote), { code: 'ERR_TOO_MANY_ATTEMPTS' })
  assert.equal((await access.signIn(await signed(anna, local), local)).firstUser, true)
  await access.signIn(await signed(anna, remote), remote)
  const forged = { ...(await signed(anna, remote)), signature: '' }
  await assert.rejects(access.signIn(forged, remote), { code: 'ERR_TOO_MANY_ATTEMPTS' })
  clock.advance(limits.failedSignInMs)
  await assert.rejects(access.signIn(await signed(bert, remote), remote), unauthorized)
})
