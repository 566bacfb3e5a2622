import { hash } from 'node:crypto'
import { KeyPair, type PublicKey, Verifier } from '../../src/identity/index.ts'
import { replaceVerifiers } from '../../src/protocol/verifiers.ts'

/** How the nodes of a simulation sign. */
export interface SignatureScheme {
  readonly name: 'ed25519' | 'stand-in'
  keyPair(seed: Uint8Array): KeyPair
  /** Checked without the rules under test, which may be wrong. */
  isSigned(node: PublicKey, message: Uint8Array, signature: Uint8Array): boolean
  /** Makes the product verify by this scheme. */
  install(): void
}

export function signatureScheme(name: SignatureScheme['name']): SignatureScheme {
  return name === 'ed25519' ? ed25519 : new StandIn()
}

const ed25519: SignatureScheme = {
  name: 'ed25519',
  keyPair: (seed) => new KeyPair(seed),
  isSigned: (node, message, signature) => new Verifier(node).verify(message, signature),
  install: () => replaceVerifiers(),
}

/** Signatures that are remembered: a few hundred bytes each. */
const mostValid = 20_000

/** Signatures are keyed hashes. All secrets are known to the scheme, but not to the nodes, so none can forge one. */
class StandIn implements SignatureScheme {
  readonly name = 'stand-in'
  readonly #secrets = new Map<string, Uint8Array>()
  /** By signature: what it was found valid for. Many nodes verify the same signature. */
  readonly #valid = new Map<string, Buffer>()

  keyPair(seed: Uint8Array): KeyPair {
    const key = new StandInKeyPair(seed)
    this.#secrets.set(nameOf(key.publicKey), Uint8Array.from(seed))
    return key
  }

  readonly isSigned = (node: PublicKey, message: Uint8Array, signature: Uint8Array): boolean => {
    const name = nameOf(signature)
    const signed = Buffer.concat([node, message])
    if (this.#valid.get(name)?.equals(signed) === true) return true
    const secret = this.#secrets.get(nameOf(node))
    if (secret === undefined || Buffer.compare(keyedHash(secret, message), signature) !== 0) return false
    if (this.#valid.size >= mostValid) this.#valid.clear()
    this.#valid.set(name, signed)
    return true
  }

  install(): void {
    replaceVerifiers((node) => ({ verify: (message, signature) => this.isSigned(node, message, signature) }))
  }
}

class StandInKeyPair extends KeyPair {
  readonly #secret: Uint8Array

  constructor(secret: Uint8Array) {
    super(secret)
    this.#secret = Uint8Array.from(secret)
  }

  override sign(message: Uint8Array): Uint8Array {
    return keyedHash(this.#secret, message)
  }
}

/** 64 bytes, like an Ed25519 signature. */
function keyedHash(secret: Uint8Array, message: Uint8Array): Uint8Array {
  return hash('sha512', Buffer.concat([secret, message]), 'buffer')
}

function nameOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}
