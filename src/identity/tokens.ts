import { failure } from '../base/errors.ts'
import { tuning } from '../base/tuning.ts'
import { decodeBase64 } from './base64.ts'
import { type Cbor, cborIn, encodeCbor } from './cbor.ts'
import { type KeyPair, Verifier } from './keys.ts'

/** The app that a token was issued to. */
export interface App {
  readonly appId: string
  readonly version: string
  readonly mode: 'trial' | 'signed'
}

interface Claims extends App {
  /** Microseconds since the Unix epoch. */
  readonly created: number
  readonly startCounter: number
  /** Seconds. */
  readonly validity: number
}

/** The lifetime of a token; a restart of the node ends it early. */
export const tokenValiditySeconds = 86_400
/** Scheme (Ed25519), public key, signature. */
const signatureLength = 1 + 32 + 64
const ed25519 = 1

/** Issues and verifies bearer tokens, which identify the app of a request. They expire after a day and on restart. */
export class Tokens {
  readonly #key: KeyPair
  readonly #startCounter: number
  readonly #now: () => number
  readonly #verifier: Verifier
  /** A FIFO cache: a signature is verified once, not with every request. */
  readonly #verified = new Map<string, Claims>()

  /** `startCounter` is the number of this start of the node, `now` returns microseconds since the Unix epoch. */
  constructor(key: KeyPair, startCounter: number, now: () => number) {
    this.#key = key
    this.#startCounter = startCounter
    this.#now = now
    this.#verifier = new Verifier(key.publicKey)
  }

  issue({ appId, version, mode }: App): string {
    const message = encodeCbor({
      created: this.#now(),
      appId,
      cycles: this.#startCounter,
      appVersion: version,
      validity: tokenValiditySeconds,
      appMode: mode,
    })
    const length = Buffer.alloc(4)
    length.writeUInt32BE(message.length)
    const signature = this.#key.sign(message)
    return Buffer.concat([length, message, Buffer.of(ed25519), this.#key.publicKey, signature]).toString('base64')
  }

  /** The app of a token; throws when the token is invalid or expired. */
  check(token: string): App {
    const claims = this.#verified.get(token) ?? this.#verify(token)
    const ends = claims.created + claims.validity * 1e6
    if (claims.startCounter !== this.#startCounter || this.#now() > ends) throw failure('ERR_TOKEN_EXPIRED', {})
    return claims
  }

  #verify(token: string): Claims {
    if (token === '') throw invalid(token, 'Missing token bytes')
    const envelope = decodeBase64(token)
    if (envelope === undefined) throw invalid(token, 'Cannot parse token bytes')
    const { message, signatures } = parts(envelope) ?? {}
    if (message === undefined || signatures === undefined) throw invalid(token, 'Not a signed token')
    if (!signatures.some((signature) => this.#isOurs(message, signature))) throw failure('ERR_TOKEN_UNAUTHORIZED', {})
    const claims = claimsOf(message)
    if (claims === undefined) throw invalid(token, 'Cannot parse CBOR')
    if (this.#verified.size >= tuning.cachedTokens) this.#verified.delete(this.#verified.keys().next().value ?? '')
    this.#verified.set(token, claims)
    return claims
  }

  #isOurs(message: Buffer, signature: Buffer): boolean {
    return (
      Buffer.compare(signature.subarray(1, 33), this.#key.publicKey) === 0 &&
      this.#verifier.verify(message, signature.subarray(33))
    )
  }
}

/** Splits an envelope into message and signatures; undefined when it is malformed. */
function parts(envelope: Buffer): { message: Buffer; signatures: Buffer[] } | undefined {
  if (envelope.length < 4) return undefined
  const end = 4 + envelope.readUInt32BE()
  const rest = envelope.length - end
  if (rest <= 0 || rest % signatureLength !== 0) return undefined
  const signatures = Array.from({ length: rest / signatureLength }, (_, i) =>
    envelope.subarray(end + i * signatureLength, end + (i + 1) * signatureLength),
  )
  if (signatures.some((signature) => signature[0] !== ed25519)) return undefined
  return { message: envelope.subarray(4, end), signatures }
}

function claimsOf(message: Buffer): Claims | undefined {
  const value = cborIn(message)
  if (typeof value !== 'object') return undefined
  const { created, appId, cycles, appVersion, validity, appMode } = value as Record<string, Cbor | undefined>
  if (typeof created !== 'number' || typeof cycles !== 'number' || typeof validity !== 'number') return undefined
  if (typeof appId !== 'string' || typeof appVersion !== 'string') return undefined
  if (appMode !== 'trial' && appMode !== 'signed') return undefined
  return { created, appId, startCounter: cycles, version: appVersion, validity, mode: appMode }
}

/** Maximum length of a token in an error message, which goes into responses and logs. */
const shownLength = 512

function invalid(token: string, cause: string): Error {
  const shown = token.length > shownLength ? `${token.slice(0, shownLength)}…` : token
  return failure('ERR_TOKEN_INVALID', { token: shown, cause })
}
