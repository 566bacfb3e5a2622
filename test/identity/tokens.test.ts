import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair, Tokens } from '../../src/identity/index.ts'
import * as fc from '../support/property.ts'

const key = new KeyPair(Buffer.alloc(32, 1))
const app = { appId: 'com.example.app', version: '1.0', mode: 'trial' } as const
const start = 1_800_000_000_000_000

function tokensAt(startCounter: number, owner = key): { tokens: Tokens; clock: { now: number } } {
  const clock = { now: start }
  return { tokens: new Tokens(owner, startCounter, () => clock.now), clock }
}

test('a token is a CBOR map in the envelope of the specification', () => {
  const bytes = Buffer.from(tokensAt(3).tokens.issue(app), 'base64')
  const length = bytes.readUInt32BE()
  const message = bytes.subarray(4, 4 + length)
  assert.equal(bytes.length, 4 + length + 97)
  assert.equal(bytes[4 + length], 1)
  assert.deepEqual(Uint8Array.from(bytes.subarray(5 + length, 37 + length)), key.publicKey)
  const text = (value: string) => Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)])
  const created = Buffer.alloc(9, 0x1b)
  created.writeBigUInt64BE(BigInt(start), 1)
  const expected = [
    ...[Buffer.of(0xa6), text('created'), created, text('appId'), text('com.example.app'), text('cycles')],
    ...[Buffer.of(3), text('appVersion'), text('1.0'), text('validity'), Buffer.of(0x1a, 0, 1, 0x51, 0x80)],
    ...[text('appMode'), text('trial')],
  ]
  assert.deepEqual(message, Buffer.concat(expected))
})

test('a token expires after a day', () => {
  const { tokens, clock } = tokensAt(0)
  const token = tokens.issue(app)
  assert.equal(tokens.check(token).appId, 'com.example.app')
  clock.now += 86_400e6
  assert.equal(tokens.check(token).appId, 'com.example.app')
  clock.now += 1
  assert.throws(() => tokens.check(token), { code: 'ERR_TOKEN_EXPIRED', message: 'Expired token.' })
})

test('a token from before a restart has expired, one of another node is unauthorized', () => {
  const token = tokensAt(4).tokens.issue(app)
  for (const startCounter of [3, 5])
    assert.throws(() => tokensAt(startCounter).tokens.check(token), { code: 'ERR_TOKEN_EXPIRED' })
  const other = tokensAt(4, new KeyPair(Buffer.alloc(32, 2))).tokens
  assert.throws(() => other.check(token), { code: 'ERR_TOKEN_UNAUTHORIZED', message: 'Unauthorized token.' })
})

test('a malformed token is refused with the reason', () => {
  const { tokens } = tokensAt(0)
  const good = Buffer.from(tokens.issue(app), 'base64')
  const signed = (message: Uint8Array) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(message.length)
    return Buffer.concat([length, message, Buffer.of(1), key.publicKey, key.sign(message)]).toString('base64')
  }
  const otherScheme = Buffer.from(good)
  otherScheme[good.length - 97] = 2
  const cases = [
    ['', 'Missing token bytes'],
    ['nonsense!', 'Cannot parse token bytes'],
    ['abc', 'Cannot parse token bytes'],
    [good.toString('base64url'), 'Cannot parse token bytes'],
    ['AAAA', 'Not a signed token'],
    [good.subarray(0, -1).toString('base64'), 'Not a signed token'],
    [good.subarray(0, -97).toString('base64'), 'Not a signed token'],
    [otherScheme.toString('base64'), 'Not a signed token'],
    [signed(Buffer.of(0xff)), 'Cannot parse CBOR'],
    [signed(Buffer.of(0x80)), 'Cannot parse CBOR'],
    [signed(Buffer.of(0xa0)), 'Cannot parse CBOR'],
    [signed(Buffer.alloc(100, 0x81)), 'Cannot parse CBOR'],
  ] as const
  for (const [token, cause] of cases) {
    const message = `Invalid token: '${token}'. ${cause}. Please provide a valid bearer token.`
    assert.throws(() => tokens.check(token), { code: 'ERR_TOKEN_INVALID', message })
  }
})

test('a token with any changed byte is refused', () => {
  const { tokens } = tokensAt(0)
  const good = Buffer.from(tokens.issue(app), 'base64')
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(good)
      changed[at] = (changed[at] ?? 0) ^ change
      assert.throws(() => tokens.check(changed.toString('base64')), { code: /ERR_TOKEN_(INVALID|UNAUTHORIZED)/ })
    }),
    { numRuns: 200 },
  )
})

test('a token that was evicted from the cache stays valid', () => {
  const { tokens, clock } = tokensAt(0)
  const issued = Array.from({ length: tuning.cachedTokens + 10 }, () => {
    clock.now++
    return tokens.issue(app)
  })
  for (const round of [1, 2]) for (const token of issued.slice(0, 20 * round)) tokens.check(token)
  for (const token of issued) assert.equal(tokens.check(token).mode, 'trial')
})
