import { ed25519 } from '@noble/curves/ed25519.js'
import type { PublicKey } from './keys.ts'

/**
 * Why these 32 bytes cannot be somebody's public key, if they cannot. OpenSSL takes any 32 bytes, but a key that is no
 * point of the curve can sign nothing, and for a point of small order anyone can make signatures.
 */
export function weaknessOf(key: PublicKey): string | undefined {
  try {
    return ed25519.Point.fromBytes(key).isSmallOrder() ? 'anyone can sign for this key' : undefined
  } catch {
    return 'it is not a point of the Ed25519 curve'
  }
}
