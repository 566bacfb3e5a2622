import { decodeBase64 } from './base64.ts'
import { type Cbor, cborIn, encodeCbor } from './cbor.ts'
import { type PublicKey, Verifier } from './keys.ts'

/** The subject of a node licence. */
export const nodeLicenceSubject = 'com.actyx.node'

interface Licence {
  readonly subject: string
  /** Milliseconds since the Unix epoch. */
  readonly expires: number
  readonly signed: Buffer
  readonly signature: Buffer
}

/** Why a licence is invalid for a subject; undefined if it is valid. `now` is in microseconds since the Unix epoch. */
export function licenceProblem(text: string, subject: string, root: PublicKey, now: number): string | undefined {
  const licence = parse(text)
  if (licence === undefined) return 'invalid license key format'
  if (!new Verifier(root).verify(licence.signed, licence.signature)) return 'invalid signature'
  if (licence.subject !== subject) return 'wrong license subject'
  return now > licence.expires * 1000 ? 'license expired' : undefined
}

function parse(text: string): Licence | undefined {
  const bytes = decodeBase64(text)
  const { licenseVersion, licenseType, createdAt, signature } = members(bytes && cborIn(bytes))
  const { appId, expiresAt } = members(members(licenseType)['expiring'])
  if (licenseVersion !== 0 || typeof createdAt !== 'string' || typeof signature !== 'string') return undefined
  if (typeof appId !== 'string' || typeof expiresAt !== 'string') return undefined
  const expires = Date.parse(expiresAt)
  const signatureBytes = decodeBase64(signature)
  if (Number.isNaN(expires) || signatureBytes === undefined) return undefined
  const signed = encodeCbor({ licenseVersion, licenseType: { expiring: { appId, expiresAt } }, createdAt })
  return { subject: appId, expires, signed, signature: signatureBytes }
}

function members(value: Cbor | undefined): Record<string, Cbor | undefined> {
  return typeof value === 'object' ? (value as Record<string, Cbor | undefined>) : {}
}
