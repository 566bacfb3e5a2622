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

/** Signatures are keyed hashes. All secrets are known to the scheme, but not to the nodes, so none can forge one. */
class StandIn implements SignatureScheme {
  readonly name = 'stand-in'
  readonly #secrets = new Map<string, Uint8Array>()

  keyPair(seed: Uint8Array): KeyPair {
    const key = new StandInKeyPair(seed)
    this.#secrets.set(nameOf(key.publicKey), Uint8Array.from(seed))
    return key
  }

  readonly isSigned = (node: PublicKey, message: Uint8Array, signature: Uint8Array): boolean => {
    const secret = this.#secrets.get(nameOf(node))
    return secret !== undefined && Buffer.compare(keyedHash(secret, message), signature) === 0
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

function nameOf(node: PublicKey): string {
  return Buffer.from(node).toString('latin1')
}
