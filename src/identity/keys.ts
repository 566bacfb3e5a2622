import {
  createPrivateKey,
  createPublicKey,
  sign as cryptoSign,
  verify as cryptoVerify,
  type KeyObject,
} from 'node:crypto'
import { ShoalError } from '../base/errors.ts'
import type { Random } from '../runtime/random.ts'

/** The 32 bytes of an Ed25519 public key. */
export type PublicKey = Uint8Array & { readonly __brand: 'PublicKey' }

/** The constant DER prefix of an Ed25519 key, before its 32 bytes. */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicHead = Buffer.from('302a300506032b6570032100', 'hex')

/** An Ed25519 key pair, derived from a seed of 32 random bytes, which is all that has to be stored. */
export class KeyPair {
  readonly publicKey: PublicKey
  readonly #seed: Uint8Array
  readonly #key: KeyObject

  constructor(seed: Uint8Array) {
    if (seed.length !== 32) throw new ShoalError('ERR_INVALID_INPUT', 'A private key has 32 bytes.')
    this.#seed = Uint8Array.from(seed)
    this.#key = createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(this.#key).export({ format: 'der', type: 'spki' })
    this.publicKey = new Uint8Array(spki.subarray(publicHead.length)) as PublicKey
  }

  static generate(random: Random): KeyPair {
    return new KeyPair(random.bytes(32))
  }

  sign(message: Uint8Array): Uint8Array {
    return new Uint8Array(cryptoSign(null, message, this.#key))
  }

  /** The private key as text: secret. */
  toPrivateText(): string {
    return keyText(this.#seed)
  }
}

/** Verifies signatures of one key. Worth caching: creating the key object costs more than using it. */
export class Verifier {
  readonly #key: KeyObject

  constructor(publicKey: PublicKey) {
    this.#key = createPublicKey({ key: Buffer.concat([publicHead, publicKey]), format: 'der', type: 'spki' })
  }

  verify(message: Uint8Array, signature: Uint8Array): boolean {
    return signature.length === 64 && cryptoVerify(null, message, this.#key, signature)
  }
}

/** `0` (for Ed25519) and standard base64 of the 32 bytes. */
export function formatPublicKey(key: PublicKey): string {
  return keyText(key)
}

export function parsePublicKey(text: string): PublicKey {
  return parseKeyText(text, 'public key') as PublicKey
}

export function parsePrivateKey(text: string): KeyPair {
  return new KeyPair(parseKeyText(text, 'private key'))
}

function keyText(bytes: Uint8Array): string {
  return `0${Buffer.from(bytes).toString('base64')}`
}

function parseKeyText(text: string, what: string): Uint8Array {
  const bytes = Buffer.from(text.slice(1), 'base64')
  if (bytes.length !== 32 || keyText(bytes) !== text) {
    // The text is not in the message: it could be a private key.
    throw new ShoalError('ERR_INVALID_INPUT', `This is not a ${what}: '0' and the base64 of 32 bytes, 45 characters.`)
  }
  return new Uint8Array(bytes)
}
