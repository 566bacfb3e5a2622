import { failure, messageOf, type ShoalError } from '../base/errors.ts'
import { decodeBase64 } from './base64.ts'
import { type Cbor, decodeCbor, encodeCbor } from './cbor.ts'
import { type PublicKey, parsePublicKey, Verifier } from './keys.ts'

/** The manifest with which an app authenticates. */
export interface Manifest {
  readonly appId: string
  readonly displayName: string
  readonly version: string
  /** The signature of the developer, with the developer's certificate. */
  readonly signature?: string
}

/** The signature of a manifest, and the developer certificate: public key and app domains, signed by the root key. */
interface ManifestSignature {
  readonly devSignature: Buffer
  readonly devPubkey: string
  readonly appDomains: readonly string[]
  readonly axSignature: Buffer
}

/** Throws unless the manifest is signed by a developer whose certificate is valid for the app ID. */
export function checkManifest({ appId, displayName, version }: Manifest, signature: string, root: PublicKey): void {
  const { devSignature, devPubkey, appDomains, axSignature } = parseSignature(signature)
  const certificate = encodeCbor({ devPubkey, appDomains })
  if (!new Verifier(root).verify(certificate, axSignature))
    throw invalid('Failed to validate developer certificate. Invalid signature for provided input.')
  if (!appDomains.some((domain) => allows(domain, appId))) {
    const domains = appDomains.map((domain) => `AppDomain(${JSON.stringify(domain)})`).join(', ')
    throw invalid(`AppId '${appId}' is not allowed in app_domains '[${domains}]'`)
  }
  const manifest = encodeCbor({ app_id: appId, display_name: displayName, version })
  if (!new Verifier(developerKey(devPubkey)).verify(manifest, devSignature))
    throw invalid('Failed to validate app manifest. Invalid signature for provided input.')
}

function parseSignature(text: string): ManifestSignature {
  const bytes = decodeBase64(text)
  if (bytes === undefined) throw invalid('The signature is not base64.')
  let value: Cbor
  try {
    value = decodeCbor(bytes)
  } catch (error) {
    throw invalid(`The signature is not valid CBOR: ${messageOf(error)}.`)
  }
  const members = value as Record<string, Cbor | undefined>
  const { sig_version: version, dev_signature: devSignature, devPubkey, appDomains, axSignature } = members
  if (version !== 0) throw invalid('The version of the signature is not 0.')
  if (typeof devPubkey !== 'string' || !isTexts(appDomains)) throw invalid('The signature has no certificate.')
  return { devSignature: signatureOf(devSignature), devPubkey, appDomains, axSignature: signatureOf(axSignature) }
}

function signatureOf(value: Cbor | undefined): Buffer {
  const bytes = typeof value === 'string' ? decodeBase64(value) : undefined
  if (bytes?.length !== 64) throw invalid('A signature has 64 bytes, as base64.')
  return bytes
}

function isTexts(value: Cbor | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The wildcard `com.acme.*` allows every app ID below these two labels. */
function allows(domain: string, appId: string): boolean {
  return /^[a-z0-9-]+\.[a-z0-9-]+\.\*$/.test(domain) && appId.startsWith(domain.slice(0, -1))
}

function developerKey(text: string): PublicKey {
  try {
    return parsePublicKey(text)
  } catch (error) {
    throw invalid(messageOf(error))
  }
}

function invalid(cause: string): ShoalError {
  return failure('ERR_MANIFEST_INVALID', { cause })
}
