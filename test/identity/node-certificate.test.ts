import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { KeyPair, nodeCertificate, nodeIdOf, nodeOfCertificate } from '../../src/identity/index.ts'
import * as fc from '../support/property.ts'
import { SeededRandom } from '../support/virtual-runtime.ts'

const node = new KeyPair(Buffer.alloc(32, 1))
const id = nodeIdOf(node.publicKey)

function made(seed: string): X509Certificate {
  return new X509Certificate(nodeCertificate(node, new SeededRandom(seed)).cert)
}

function parse(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes)
  } catch {
    return undefined
  }
}

test('a certificate has a P-256 key of its own, and names the node that vouches for it', () => {
  const certificate = made('a')
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.ok(certificate.verify(certificate.publicKey))
  assert.equal(certificate.subject, `CN=shoal ${id}`)
  assert.equal(nodeOfCertificate(certificate), id)
  assert.notEqual(made('b').fingerprint256, certificate.fingerprint256)
})

test('the signature of a node for another key is refused', () => {
  const [one, other] = [made('a').raw, made('b').raw]
  const keyAt = (bytes: Buffer): number => bytes.indexOf(Buffer.from('03420004', 'hex'))
  const swapped = Buffer.from(one)
  other.copy(swapped, keyAt(one), keyAt(other), keyAt(other) + 68)
  assert.equal(nodeOfCertificate(new X509Certificate(swapped)), undefined)
})

test('a damaged certificate names this node or none, and is never an unexpected error', () => {
  const { raw } = made('a')
  const holds = fc.property(
    fc.nat(raw.length - 1),
    fc.nat(255),
    fc.constantFrom(raw.length, raw.length - 1),
    (at, byte, length) => {
      const damaged = Buffer.from(raw.subarray(0, length))
      if (at < damaged.length) damaged[at] = byte
      const parsed = parse(damaged)
      if (parsed !== undefined) assert.ok([id, undefined].includes(nodeOfCertificate(parsed)))
    },
  )
  fc.assert(holds, { numRuns: 2000 })
})
