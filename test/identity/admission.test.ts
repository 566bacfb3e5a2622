import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cbor, encodeCbor } from '../../src/identity/cbor.ts'
import { admitApp, formatPublicKey, KeyPair, type Manifest, parsePrivateKey } from '../../src/identity/index.ts'

const root = new KeyPair(Buffer.alloc(32, 7))
const developer = new KeyPair(Buffer.alloc(32, 8))
const now = Date.parse('2030-01-01T00:00:00Z') * 1000
const development = { node: 'development', apps: {} }
const app = { appId: 'com.acme.app', displayName: 'App', version: '1.0' }

const sign = (key: KeyPair, value: Cbor) => Buffer.from(key.sign(encodeCbor(value))).toString('base64')

function signed(manifest: Manifest, domains = ['com.acme.*'], change: Record<string, Cbor> = {}): Manifest {
  const { appId, displayName, version } = manifest
  const certificate = { devPubkey: formatPublicKey(developer.publicKey), appDomains: domains }
  const signature = encodeCbor({
    sig_version: 0,
    dev_signature: sign(developer, { app_id: appId, display_name: displayName, version }),
    ...certificate,
    axSignature: sign(root, certificate),
    ...change,
  })
  return { ...manifest, signature: signature.toString('base64') }
}

function licence(subject: string, expiresAt = '2031-01-01T00:00:00Z', signer = root): string {
  const signedPart = {
    licenseVersion: 0,
    licenseType: { expiring: { appId: subject, expiresAt } },
    createdAt: '2029-01-01T00:00:00Z',
  }
  const all = { ...signedPart, signature: sign(signer, signedPart), requester: { email: 'a@example.com' } }
  return encodeCbor(all).toString('base64')
}

const licensed = (apps: Record<string, string>, node = licence('com.actyx.node')) => ({ node, apps })

test('an unlicensed node admits every unsigned app', () => {
  for (const appId of ['com.example.a', 'com.acme.app', 'x', '-'])
    assert.deepEqual(admitApp({ ...app, appId }, development, undefined, now), { appId, version: '1.0', mode: 'trial' })
})

test("an app with the node's own app ID is refused", () => {
  for (const manifest of [{ ...app, appId: 'com.actyx' }, signed({ ...app, appId: 'com.actyx' })])
    assert.throws(() => admitApp(manifest, development, root.publicKey, now), { code: 'ERR_BAD_REQUEST' })
})

test('a licensed node admits unsigned apps only below com.example', () => {
  assert.equal(admitApp({ ...app, appId: 'com.example.a' }, licensed({}), root.publicKey, now).mode, 'trial')
  assert.throws(() => admitApp(app, licensed({}), root.publicKey, now), {
    code: 'ERR_BAD_REQUEST',
    message: "Invalid request. Trial app id needs to start with 'com.example.'. Got 'com.acme.app'.",
  })
})

test('an invalid signature is refused, with or without a licence', () => {
  const other = new KeyPair(Buffer.alloc(32, 9))
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
  const cases: [Manifest, RegExp][] = [
    [{ ...app, signature: '!' }, /^Invalid manifest\. The signature is not base64/],
    [{ ...app, signature: '/w==' }, /^Invalid manifest\. The signature is not valid CBOR/],
    [{ ...app, signature: 'oA==' }, /version of the signature/],
    [signed(app, ['com.acme.*'], { appDomains: ['com.other.*'] }), /Failed to validate developer certificate\. Inv/],
    [signed(app, ['com.acme.*'], { axSignature: 'AAAA' }), /64 bytes/],
    [
      signed(app, ['com.other.*']),
      /AppId 'com\.acme\.app' is not allowed in app_domains '\[AppDomain\("com\.other\.\*"\)\]'/,
    ],
    [signed(app, ['com.*']), /is not allowed/],
    [signed({ ...app, appId: 'com.acme' }), /is not allowed/],
    [{ ...signed(app), version: '2' }, /^Invalid manifest\. Failed to validate app manifest\. Invalid signature/],
    [signed(app, ['com.acme.*'], { dev_signature: text(other.sign(Buffer.of(1))) }), /Failed to validate app manifest/],
  ]
  for (const [manifest, message] of cases)
    assert.throws(() => admitApp(manifest, development, root.publicKey, now), { code: 'ERR_MANIFEST_INVALID', message })
  assert.throws(() => admitApp(signed(app), development, other.publicKey, now), { code: 'ERR_MANIFEST_INVALID' })
  assert.throws(() => admitApp(signed(app), development, undefined, now), { message: /--root-public-key/ })
  assert.equal(admitApp(signed(app), development, root.publicKey, now).mode, 'signed')
})

test('a licensed node refuses a signed app unless both have a valid licence', () => {
  const good = { 'com.acme.app': licence('com.acme.app') }
  assert.deepEqual(admitApp(signed(app), licensed(good), root.publicKey, now), {
    appId: 'com.acme.app',
    version: '1.0',
    mode: 'signed',
  })
  const old = '2029-12-31T23:59:59Z'
  const cases = [
    [licensed(good, 'x'.repeat(64)), 'ERR_NODE_UNAUTHORIZED', 'invalid license key format'],
    [licensed(good, licence('com.acme.app')), 'ERR_NODE_UNAUTHORIZED', 'wrong license subject'],
    [licensed(good, licence('com.actyx.node', old)), 'ERR_NODE_UNAUTHORIZED', 'license expired'],
    [licensed(good, licence('com.actyx.node', undefined, developer)), 'ERR_NODE_UNAUTHORIZED', 'invalid signature'],
    [licensed({}), 'ERR_APP_UNAUTHORIZED', 'no license found'],
    [licensed({ 'com.acme.app': licence('com.acme.b') }), 'ERR_APP_UNAUTHORIZED', 'wrong license subject'],
    [licensed({ 'com.acme.app': licence('com.acme.app', old) }), 'ERR_APP_UNAUTHORIZED', 'license expired'],
  ] as const
  for (const [licensing, code, reason] of cases)
    assert.throws(() => admitApp(signed(app), licensing, root.publicKey, now), { code, message: new RegExp(reason) })
})

test('the licence "testing" admits a signed app, with a warning', () => {
  const admitted = admitApp(signed(app), licensed({ 'com.acme.app': 'testing' }), root.publicKey, now)
  assert.match(admitted.warning ?? '', /com\.acme\.app is admitted for testing/)
})

test('manifests and licences of the reference system are valid', () => {
  const { publicKey } = parsePrivateKey('0WBFFicIHbivRZXAlO7tPs7rCX6s7u2OIMJ2mx9nwg0w=')
  const manifest = {
    appId: 'com.actyx.test-app',
    displayName: 'display name',
    version: 'version 0',
    signature:
      'v2tzaWdfdmVyc2lvbgBtZGV2X3NpZ25hdHVyZXhYWWNuNmlpWXllcFBKeEN6L3hEY3JkQklHcGlxYVRkQVBaakVuRnIzL2xBdGgzaXRzNU9PaTFORjU4M2xFcTJuSVJwOWtIZ1BFSTViTFNPQlFxN2lNQkE9PWlkZXZQdWJrZXl4LTBzaUdHN0dYSGpGaG5oRldya3RiaVZ2Vjgyb1dxTUVzdDBiOVVjWjZYRWd3PWphcHBEb21haW5zgWtjb20uYWN0eXguKmtheFNpZ25hdHVyZXhYekpYa0VkL1BnWjdkcEUzZDVDc0JSaWJHVjBRcE9ZcEhHa3dmV1JEVFNuclk1d25tWDN6YnhMNjA1TkdjK3huTnpKeHoyamp3N1VFemNPTlBrRXN0Q3c9Pf8=',
  }
  assert.equal(admitApp(manifest, development, publicKey, now).mode, 'signed')
  const expired =
    'v25saWNlbnNlVmVyc2lvbgBrbGljZW5zZVR5cGWhaGV4cGlyaW5nomVhcHBJZHNjb20uYWN0eXguYXV0aC10ZXN0aWV4cGlyZXNBdHQxOTcxLTAxLTAxVDAwOjAxOjAxWmljcmVhdGVkQXR0MTk3MC0wMS0wMVQwMDowMTowMVppc2lnbmF0dXJleFhBQWRSd1U4UTZlb3JLY0N3SjE1T0t4OWVPQ0kxNjN3MFhwTFpHWkNPUWlDWUZlYkR1cFlBbWlNOVhsb3dDYWw5dUtuSWhRelkzSUo2RkdUbEtJMStEUT09aXJlcXVlc3RlcqFlZW1haWx0Y3VzdG9tZXJAZXhhbXBsZS5jb23/'
  // The signature is checked before the subject, so it is valid.
  assert.throws(() => admitApp(manifest, licensed({}, expired), publicKey, now), { message: /wrong license subject/ })
})
