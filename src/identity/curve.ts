import { ed25519 } from '@noble/curves/ed25519.js'
import type { PublicKey } from './keys.ts'

/**
 * Why 32 bytes are not a usable public key; undefined if they are. OpenSSL accepts any 32 bytes. But for a key that is
 * not a point on the curve no signature is valid, and for a point of small order anyone can forge signatures.
 */
export function weaknessOf(key: PublicKey): string | undefined {
  try {
    return ed25519.Point.fromBytes(key).isSmallOrder() ? 'anyone can sign for this key' : undefined
  } catch {
    return 'it is not a point of the Ed25519 curve'
  }
}
