import assert from 'node:assert/strict'
import { test } from 'node:test'
import { weaknessOf } from '../../src/identity/curve.ts'
import {
  formatPublicKey,
  KeyPair,
  type PublicKey,
  parsePrivateKey,
  parsePublicKey,
  Verifier,
} from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import * as fc from '../support/property.ts'

const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))

test('keys and signatures match the test vectors of RFC 8032', () => {
  const pair = new KeyPair(hex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'))
  assert.deepEqual(pair.publicKey, hex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'))
  const signature =
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b'
  assert.deepEqual(pair.sign(new Uint8Array()), hex(signature))
  assert.equal(formatPublicKey(pair.publicKey), '011qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=')
})

test('a key pair round-trips through its text form', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const pair = new KeyPair(seed)
      assert.deepEqual(parsePrivateKey(pair.toPrivateText()).publicKey, pair.publicKey)
      assert.deepEqual(parsePublicKey(formatPublicKey(pair.publicKey)), pair.publicKey)
      assert.equal(formatPublicKey(pair.publicKey).length, 45)
      assert.equal(weaknessOf(pair.publicKey), undefined)
    }),
    { numRuns: 30 },
  )
})

test('a signature is only valid for its message and its key', () => {
  const [a, b] = [KeyPair.generate(systemRandom), KeyPair.generate(systemRandom)]
  const message = Buffer.from('message')
  const signature = a.sign(message)
  assert.ok(new Verifier(a.publicKey).verify(message, signature))
  assert.ok(!new Verifier(b.publicKey).verify(message, signature))
  assert.ok(!new Verifier(a.publicKey).verify(Buffer.from('massage'), signature))
  for (const length of [0, 63, 65]) assert.ok(!new Verifier(a.publicKey).verify(message, new Uint8Array(length)))
})

test('a malformed key is refused, and is not repeated in the message', () => {
  const good = formatPublicKey(KeyPair.generate(systemRandom).publicKey)
  for (const text of [
    '',
    '0',
    good.slice(1),
    `1${good.slice(1)}`,
    `${good}=`,
    good.replace('=', ''),
    ` ${good}`,
    good.replace(/.=$/, '/='),
  ]) {
    assert.throws(
      () => parsePublicKey(text),
      (error: Error) => (text.length < 5 || !error.message.includes(text)) && /45 characters/.test(error.message),
    )
  }
  assert.throws(() => new KeyPair(new Uint8Array(31)), { code: 'ERR_INVALID_INPUT' })
})

test('a point that is off the curve or of small order is refused as a public key', () => {
  const offCurve = hex(`02${'00'.repeat(31)}`) as PublicKey
  assert.match(weaknessOf(offCurve) ?? '', /not a point/)
  const identity = hex(`01${'00'.repeat(31)}`) as PublicKey
  assert.match(weaknessOf(identity) ?? '', /anyone can sign/)
  const zero = new Uint8Array(32) as PublicKey
  assert.match(weaknessOf(zero) ?? '', /anyone can sign/)
})
