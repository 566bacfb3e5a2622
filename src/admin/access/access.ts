import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { storableTime } from '../../base/timestamps.ts'
import { adminSignInMessage, decodeBase64, type NodeId, parsePublicKey, Verifier } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Settings } from '../../settings/index.ts'
import { Challenges } from './challenges.ts'
import { isClaimCode, newClaimCode } from './claim-code.ts'
import { FailedAttempts } from './failed-attempts.ts'
import type { Ends } from './loopback-peer.ts'
import { Sessions } from './sessions.ts'

export interface AccessParts {
  readonly nodeId: NodeId
  readonly settings: Settings
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** The user ID of this process; undefined where the system has none. */
  readonly ownUser: number | undefined
  /** The user ID at the other end of a loopback connection. */
  readonly peerUser: (ends: Ends) => Promise<number | undefined>
}

export interface SignIn {
  readonly publicKey: string
  readonly challenge: string
  /** Base64 of the signature over `adminSignInMessage`. */
  readonly signature: string
  /** The one-time code for the first user of a node. */
  readonly code?: string | undefined
}

/** The connection over which a user signs in. */
export interface SignInConnection extends Ends {
  /** Whether a proxy has passed the request on: then the other end is not the user. */
  readonly isForwarded: boolean
}

export interface Opened {
  readonly token: string
  readonly expiresAt: string
  readonly firstUser: boolean
}

const root = 0

/** Who may use the admin port: users prove their key, and the list in the settings is checked on every request. */
export class Access {
  readonly #parts: AccessParts
  readonly #challenges: Challenges
  readonly #sessions: Sessions
  readonly #attempts: FailedAttempts
  /** The code for the first user, while there is none. */
  #code: string | undefined

  constructor(parts: AccessParts) {
    this.#parts = parts
    this.#challenges = new Challenges(parts)
    this.#sessions = new Sessions(parts)
    this.#attempts = new FailedAttempts(parts.clock)
    this.#renewCode()
    parts.settings.onChange(() => {
      this.#sessions.revokeExcept(this.#users)
      this.#renewCode()
    })
  }

  /** A challenge for the holder of a key. */
  challenge(publicKey: string): { challenge: string; nodeId: NodeId; expiresAt: string } {
    parsePublicKey(publicKey)
    const challenge = this.#challenges.issue(publicKey)
    return { challenge, nodeId: this.#parts.nodeId, expiresAt: this.#after(limits.challengeMs) }
  }

  /** Opens a session for the holder of an authorized key, or of the first key if the connection may claim the node. */
  async signIn(request: SignIn, connection: SignInConnection): Promise<Opened> {
    const { publicKey, challenge } = request
    const { remoteAddress } = connection
    if (!this.#isProven(request))
      throw this.#failed(remoteAddress, unauthenticated('The challenge is not open, or the signature is wrong.'))
    // A proven key that is authorized is never refused: others with the same address cannot lock its user out.
    if (this.#users.includes(publicKey)) return this.#open(publicKey, challenge, false)
    if (this.#users.length > 0) throw this.#failed(remoteAddress, failure('ERR_UNAUTHORIZED', {}))
    if (!(await this.#mayClaim(request, connection))) throw this.#failed(remoteAddress, unclaimed())
    return (await this.#claim(request, remoteAddress)) ?? (await this.signIn(request, connection))
  }

  /** The key of the user of a session. Throws without a session, and when the user is not authorized any more. */
  userOf(token: string | undefined): string {
    const session = token === undefined ? undefined : this.#sessions.find(token)
    if (token === undefined || session === undefined)
      throw unauthenticated('There is no session, or it has ended: sign in with a user key.')
    const { publicKey, isRevoked } = session
    if (!isRevoked && this.#users.includes(publicKey)) return publicKey
    this.#sessions.end(token)
    throw failure('ERR_UNAUTHORIZED', {})
  }

  end(token: string): void {
    this.#sessions.end(token)
  }

  get #users(): readonly string[] {
    return this.#parts.settings.document.admin.authorizedUsers
  }

  #isProven({ publicKey, challenge, signature }: SignIn): boolean {
    if (!this.#challenges.isOpen(publicKey, challenge)) return false
    const bytes = decodeBase64(signature)
    const message = adminSignInMessage(this.#parts.nodeId, challenge)
    return bytes !== undefined && new Verifier(parsePublicKey(publicKey)).verify(message, bytes)
  }

  async #mayClaim({ code }: SignIn, connection: SignInConnection): Promise<boolean> {
    if (code !== undefined) {
      // A code can be guessed, so that it is not looked at after too many failures.
      if (this.#attempts.areTooMany(connection.remoteAddress)) return false
      return this.#code !== undefined && isClaimCode(code, this.#code)
    }
    const { ownUser, peerUser } = this.#parts
    if (connection.isForwarded || ownUser === undefined) return false
    const user = await peerUser(connection)
    return user === ownUser || user === root
  }

  /** Makes a user the first authorized one; undefined when the settings were changed meanwhile. */
  async #claim({ publicKey, challenge }: SignIn, address: string): Promise<Opened | undefined> {
    const { settings, log } = this.#parts
    const scope = ['admin', 'authorizedUsers']
    if (this.#users.length > 0) return undefined
    try {
      const ifRevision = settings.revision
      await settings.change({ do: 'set', scope, value: [publicKey] }, { origin: `first user, ${address}`, ifRevision })
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'ERR_SETTINGS_CONFLICT') return undefined
      throw error
    }
    log.info(`${publicKey} has been added as the first authorized user`, { remote: address })
    return this.#open(publicKey, challenge, true)
  }

  #open(publicKey: string, challenge: string, firstUser: boolean): Opened {
    if (!this.#challenges.use(publicKey, challenge)) throw unauthenticated('The challenge was used already.')
    return { token: this.#sessions.open(publicKey), expiresAt: this.#after(limits.sessionMs), firstUser }
  }

  /** Counts a failure; after too many, the error says so and nothing else. */
  #failed(address: string, error: ShoalError): ShoalError {
    if (this.#attempts.areTooMany(address)) return failure('ERR_TOO_MANY_ATTEMPTS', {})
    this.#attempts.add(address)
    return error
  }

  #renewCode(): void {
    const isClaimed = this.#users.length > 0
    if (isClaimed) this.#code = undefined
    if (isClaimed || this.#code !== undefined) return
    this.#code = newClaimCode(this.#parts.random)
    this.#parts.log.info(
      `No user is authorized to manage this node yet. The first one signs in on this machine, as its owner or root, or from elsewhere with the one-time code ${this.#code}.`,
    )
  }

  #after(ms: number): string {
    return new Date(storableTime(this.#parts.clock.now()) / 1000 + ms).toISOString()
  }
}

function unauthenticated(cause: string): ShoalError {
  return failure('ERR_USER_UNAUTHENTICATED', { cause })
}

/** The refusal of a node without authorized users. */
function unclaimed(): ShoalError {
  const ways =
    'This node has no authorized user yet: type `shoal users claim <node> --code <code>` with the one-time code in its log, or `shoal users add-key <data folder>` on its machine.'
  return new ShoalError('ERR_UNAUTHORIZED', `${failure('ERR_UNAUTHORIZED', {}).message} ${ways}`)
}
