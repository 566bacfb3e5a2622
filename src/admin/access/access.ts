import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { storableTime } from '../../base/timestamps.ts'
import { adminSignInMessage, decodeBase64, type NodeId, parsePublicKey, Verifier } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Settings } from '../../settings/index.ts'
import { Challenges, type Transport } from './challenges.ts'
import { isClaimCode, newClaimCode } from './claim-code.ts'
import { FailedAttempts } from './failed-attempts.ts'
import type { ConnectionTuple } from './loopback-peer.ts'
import { type Session, Sessions } from './sessions.ts'

export interface AccessParts {
  readonly nodeId: NodeId
  readonly settings: Settings
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** The UID of this process; undefined where the system has none. */
  readonly ownUser: number | undefined
  /** The UID of the process at the other end of a loopback connection. */
  readonly peerUser: (tuple: ConnectionTuple) => Promise<number | undefined>
  /** Called when a user has ended a session. */
  readonly onSignOut: (token: string) => void
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
export interface SignInConnection extends ConnectionTuple {
  /** The same object for all requests of a connection. */
  readonly socket: object
  readonly transport: Transport
  /** Whether the request came through a proxy, which is then the other end, instead of the user. */
  readonly isForwarded: boolean
}

export interface OpenedSession {
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
  /**
   * Sockets whose other end belongs to the owner of the node, with the challenge that was sent over them. The owner is
   * looked up before the challenge is issued, and a claim has to send that challenge back over the same connection. A
   * lookup at the time of the claim could find another process that has reused the port.
   */
  readonly #owners = new WeakMap<object, string>()
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
  async challenge(
    publicKey: string,
    connection: SignInConnection,
  ): Promise<{ challenge: string; nodeId: NodeId; expiresAt: string }> {
    parsePublicKey(publicKey)
    const isOwner = this.#users.length === 0 && (await this.#isOwner(connection))
    const challenge = this.#challenges.issue(publicKey, connection.transport)
    if (isOwner) this.#owners.set(connection.socket, challenge)
    return { challenge, nodeId: this.#parts.nodeId, expiresAt: this.#expiryAfter(limits.challengeMs) }
  }

  /** Opens a session for the holder of an authorized key, or of the first key if the connection may claim the node. */
  async signIn(request: SignIn, connection: SignInConnection): Promise<OpenedSession> {
    const { publicKey } = request
    const { remoteAddress, transport } = connection
    if (!this.#isProven(request, transport))
      throw this.#failed(remoteAddress, unauthenticated('The challenge is not open, or the signature is wrong.'))
    // A proven key that is authorized is never refused: others with the same address cannot lock its user out.
    if (this.#users.includes(publicKey)) return this.#open(request, transport, false)
    if (this.#users.length > 0) throw this.#failed(remoteAddress, failure('ERR_UNAUTHORIZED', {}))
    if (!this.#mayClaim(request, connection)) throw this.#failed(remoteAddress, unclaimed())
    return (await this.#claim(request, connection)) ?? (await this.signIn(request, connection))
  }

  /** The public key of the user of a session. Throws without a session, and if the user is not authorized any more. */
  userOf(token: string | undefined): string {
    return this.sessionOf(token).publicKey
  }

  /** The session of a token. Throws as `userOf` does. */
  sessionOf(token: string | undefined): Session {
    const session = token === undefined ? undefined : this.#sessions.find(token)
    if (token === undefined || session === undefined)
      throw unauthenticated('There is no session, or it has ended: sign in with a user key.')
    if (!session.isRevoked && this.#users.includes(session.publicKey)) return session
    this.#sessions.end(token)
    throw failure('ERR_UNAUTHORIZED', {})
  }

  end(token: string): void {
    this.#sessions.end(token)
    this.#parts.onSignOut(token)
  }

  get #users(): readonly string[] {
    return this.#parts.settings.document.admin.authorizedUsers
  }

  #isProven({ publicKey, challenge, signature }: SignIn, transport: Transport): boolean {
    if (!this.#challenges.isOpen(publicKey, challenge, transport)) return false
    const bytes = decodeBase64(signature)
    const message = adminSignInMessage(this.#parts.nodeId, challenge)
    return bytes !== undefined && new Verifier(parsePublicKey(publicKey)).verify(message, bytes)
  }

  #mayClaim({ challenge, code }: SignIn, connection: SignInConnection): boolean {
    if (code !== undefined) {
      // Against brute force: after too many failures no code is compared.
      if (this.#attempts.areTooMany(connection.remoteAddress)) return false
      return this.#code !== undefined && isClaimCode(code, this.#code)
    }
    return !connection.isForwarded && this.#owners.get(connection.socket) === challenge
  }

  /** Whether the other end of a loopback connection has the rights of this node. */
  async #isOwner(connection: SignInConnection): Promise<boolean> {
    const { ownUser, peerUser } = this.#parts
    if (connection.isForwarded || ownUser === undefined) return false
    const user = await peerUser(connection)
    return user === ownUser || user === root
  }

  /** Makes a user the first authorized one; undefined when the settings were changed meanwhile. */
  async #claim(request: SignIn, { remoteAddress, transport }: SignInConnection): Promise<OpenedSession | undefined> {
    const { publicKey } = request
    const { settings, log } = this.#parts
    const scope = ['admin', 'authorizedUsers']
    if (this.#users.length > 0) return undefined
    try {
      const ifRevision = settings.revision
      await settings.change(
        { do: 'set', scope, value: [publicKey] },
        { origin: `first user, ${remoteAddress}`, ifRevision },
      )
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'ERR_SETTINGS_CONFLICT') return undefined
      throw error
    }
    log.info(`${publicKey} has been added as the first authorized user`, { remote: remoteAddress })
    return this.#open(request, transport, true)
  }

  #open({ publicKey, challenge }: SignIn, transport: Transport, firstUser: boolean): OpenedSession {
    if (!this.#challenges.use(publicKey, challenge, transport)) throw unauthenticated('The challenge was used already.')
    return { token: this.#sessions.open(publicKey), expiresAt: this.#expiryAfter(limits.sessionMs), firstUser }
  }

  /** Counts a failed attempt. Returns the error to throw: after too many attempts it reveals nothing else. */
  #failed(address: string, error: ShoalError): ShoalError {
    if (this.#attempts.areTooMany(address)) return failure('ERR_TOO_MANY_ATTEMPTS', {})
    this.#attempts.add(address)
    return error
  }

  /** Drops the code of a claimed node. A node without users gets a code, which is logged. */
  #renewCode(): void {
    const isClaimed = this.#users.length > 0
    if (isClaimed) this.#code = undefined
    if (isClaimed || this.#code !== undefined) return
    this.#code = newClaimCode(this.#parts.random)
    this.#parts.log.info(
      `No user is authorized to manage this node yet. The first one signs in on this machine, as the user of the node or as root, or from elsewhere with the one-time code ${this.#code}.`,
    )
  }

  #expiryAfter(ms: number): string {
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
