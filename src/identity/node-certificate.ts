import { createPrivateKey, createPublicKey, sign as cryptoSign, type KeyObject, X509Certificate } from 'node:crypto'
import type { Random } from '../runtime/random.ts'
import { der, type Element, elementsOf, explicit, objectIdentifier, sequence, tags } from './der.ts'
import { type NodeId, nodeIdOf } from './ids.ts'
import { type KeyPair, type PublicKey, Verifier } from './keys.ts'

/** The extension, and what is signed in it, of the TLS specification of libp2p. */
const extensionId = objectIdentifier('1.3.6.1.4.1.53594.1.1')
const signedPrefix = Buffer.from('libp2p-tls-handshake:')
/** An Ed25519 key as protobuf, before its 32 bytes. */
const keyPrefix = Buffer.of(0x08, 0x01, 0x12, 0x20)

const p256 = objectIdentifier('1.2.840.10045.3.1.7')
const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'))
const commonName = objectIdentifier('2.5.4.3')

/**
 * A new P-256 key with a certificate in which the key of the node vouches for it, both as PEM. Browsers do not accept
 * Ed25519 certificates.
 */
export function nodeCertificate(node: KeyPair, random: Random): { readonly key: string; readonly cert: string } {
  const key = newKey(random)
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const signature = node.sign(Buffer.concat([signedPrefix, spki]))
  const vouched = sequence(der(tags.octetString, keyPrefix, node.publicKey), der(tags.octetString, signature))
  const name = sequence(der(tags.set, sequence(commonName, der(tags.utf8String, `shoal ${nodeIdOf(node.publicKey)}`))))
  const content = sequence(
    der(explicit(0), der(tags.integer, Buffer.of(2))),
    der(tags.integer, Buffer.of(1), random.bytes(15)),
    ecdsaWithSha256,
    name,
    // Clients check the key of the node instead: a wrong clock must not keep an operator out.
    sequence(der(tags.utcTime, '200101000000Z'), der(tags.generalizedTime, '99991231235959Z')),
    name,
    spki,
    der(explicit(3), sequence(sequence(extensionId, der(tags.octetString, vouched)))),
  )
  const certificate = sequence(
    content,
    ecdsaWithSha256,
    der(tags.bitString, Buffer.of(0), cryptoSign('sha256', content, key)),
  )
  return {
    key: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: new X509Certificate(certificate).toString(),
  }
}

/** The node that vouches for the key of a certificate; undefined when none does. */
export function nodeOfCertificate(certificate: X509Certificate): NodeId | undefined {
  const vouched = extensionIn(certificate.raw)
  const [key, signature] = elementsOf(vouched ?? Buffer.of()) ?? []
  if (key?.content.length !== keyPrefix.length + 32 || !key.content.subarray(0, keyPrefix.length).equals(keyPrefix))
    return undefined
  const publicKey = new Uint8Array(key.content.subarray(keyPrefix.length)) as PublicKey
  const spki = publicKeyIn(certificate)
  if (spki === undefined) return undefined
  const isSigned = new Verifier(publicKey).verify(
    Buffer.concat([signedPrefix, spki]),
    signature?.content ?? Buffer.of(),
  )
  return isSigned ? nodeIdOf(publicKey) : undefined
}

function publicKeyIn(certificate: X509Certificate): Buffer | undefined {
  try {
    return certificate.publicKey.export({ format: 'der', type: 'spki' })
  } catch {
    // A point that is not on the curve, or an unknown kind of key.
    return undefined
  }
}

/** The content of the sequence in the extension. */
function extensionIn(certificate: Buffer): Buffer | undefined {
  const content = first(elementsOf(certificate)?.[0])
  const extensions = first(elementsOf(content?.content ?? Buffer.of())?.find(({ tag }) => tag === explicit(3)))
  for (const extension of elementsOf(extensions?.content ?? Buffer.of()) ?? []) {
    const parts = elementsOf(extension.content) ?? []
    const [id] = parts
    if (id?.tag !== tags.objectIdentifier || !der(id.tag, id.content).equals(extensionId)) continue
    return first(parts.at(-1))?.content
  }
  return undefined
}

function first(element: Element | undefined): Element | undefined {
  return elementsOf(element?.content ?? Buffer.of())?.[0]
}

/** A private key is a number below the order of the curve, which is about 2^256: half of them are enough. */
function newKey(random: Random): KeyObject {
  const secret = random.bytes(32)
  secret.writeUInt8(secret.readUInt8() & 0x7f)
  const key = sequence(der(tags.integer, Buffer.of(1)), der(tags.octetString, secret), der(explicit(0), p256))
  return createPrivateKey({ key, format: 'der', type: 'sec1' })
}
