import { tuning } from '../base/tuning.ts'
import { type PublicKey, Verifier } from '../identity/index.ts'

/** Verifies signatures of one key. */
export interface SignatureVerifier {
  verify(message: Uint8Array, signature: Uint8Array): boolean
}

type MakeVerifier = (node: PublicKey) => SignatureVerifier

const makeEd25519: MakeVerifier = (node) => new Verifier(node)
let make = makeEd25519

/** A FIFO cache: creating a key object costs more than using it. */
const verifiers = new Map<string, SignatureVerifier>()

export function verifierOf(node: PublicKey): SignatureVerifier {
  const name = Buffer.from(node).toString('latin1')
  const known = verifiers.get(name)
  if (known !== undefined) return known
  const [oldest] = verifiers.keys()
  if (verifiers.size >= tuning.cachedVerifiers && oldest !== undefined) verifiers.delete(oldest)
  const verifier = make(node)
  verifiers.set(name, verifier)
  return verifier
}

/**
 * Replaces Ed25519 in simulations; without an argument, restores it. Not exported by `index.ts`, so that no other folder
 * can import it.
 */
export function replaceVerifiers(replacement: MakeVerifier = makeEd25519): void {
  make = replacement
  verifiers.clear()
}
