import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access, type SignIn } from '../../../src/admin/access/access.ts'
import { limits } from '../../../src/base/limits.ts'
import { adminSignInMessage, formatPublicKey, KeyPair, nodeIdOf } from '../../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../../src/logging/index.ts'
import { Settings } from '../../../src/settings/index.ts'
import * as fc from '../../support/property.ts'
import { memoryLog } from '../../support/settings-log.ts'
import { SeededRandom, VirtualClock } from '../../support/virtual-runtime.ts'

const nodeId = nodeIdOf(new KeyPair(Buffer.alloc(32, 1)).publicKey)
const users = [2, 3].map((byte) => new KeyPair(Buffer.alloc(32, byte)))
const keys = users.map(({ publicKey }) => formatPublicKey(publicKey))
const remote = {
  socket: {},
  transport: 'tls' as const,
  localAddress: '10.0.0.1',
  localPort: 1,
  remoteAddress: '10.0.0.2',
  remotePort: 2,
  isForwarded: false,
}

const user = fc.nat(users.length - 1)
/** Another user than the one whom a challenge is for, or not; mostly not. */
const forger = fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: user })
const waited = fc.constantFrom(1, limits.challengeMs / 2, limits.sessionMs / 2)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('challenge' as const), user }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('sign in' as const), challenge: fc.nat(2), forger }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const), listed: fc.uniqueArray(user) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waited }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), session: fc.nat(2) }) },
  // Not after each step: looking at a session may end it.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('check' as const) }) },
)
const steps = fc.array(step, { maxLength: 50, size: 'max' })
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

interface Issued {
  readonly user: number
  readonly challenge: string
  readonly end: number
  isUsed: boolean
}

interface Open {
  readonly user: number
  readonly token: string
  readonly end: number
  isOver: boolean
}

/** Access of users from elsewhere, with what is expected of it. */
class Model {
  readonly #clock = new VirtualClock()
  readonly #settings: Settings
  readonly #access: Access
  readonly #issued: Issued[] = []
  readonly #sessions: Open[] = []
  #listed: readonly number[] = []

  private constructor(settings: Settings) {
    this.#settings = settings
    const sink = { write: () => {}, flush: async () => {} }
    const log = new Logger(logOutput(textLine(false), sink, this.#clock), 'admin')
    const random = new SeededRandom('model')
    const peerUser = async (): Promise<undefined> => undefined
    const parts = { nodeId, settings, log, clock: this.#clock, random, ownUser: 1000, peerUser }
    this.#access = new Access({ ...parts, onSignOut: () => {} })
  }

  static async create(): Promise<Model> {
    return new Model(await Settings.open(memoryLog(), new VirtualClock()))
  }

  async apply(step: Step): Promise<void> {
    if (step.do === 'challenge') await this.#challenge(step.user)
    else if (step.do === 'sign in') await this.#signIn(step.challenge, step.forger)
    else if (step.do === 'list') await this.#list(step.listed)
    else if (step.do === 'wait') this.#clock.advance(step.ms)
    else if (step.do === 'end') this.#end(step.session)
    else this.check()
  }

  check(): void {
    for (const { token, user: owner, end, isOver } of this.#sessions) {
      if (!isOver && end > this.#clock.steadyMs()) assert.equal(this.#access.userOf(token), keys[owner])
      else assert.throws(() => this.#access.userOf(token))
    }
  }

  async #challenge(index: number): Promise<void> {
    const { challenge } = await this.#access.challenge(keys[index] ?? '', remote)
    this.#issued.push({ user: index, challenge, end: this.#clock.steadyMs() + limits.challengeMs, isUsed: false })
  }

  async #signIn(challenge: number, forger: number | null): Promise<void> {
    const asked = this.#issued.at(-1 - challenge)
    if (asked === undefined) return
    const signer = forger ?? asked.user
    const now = this.#clock.steadyMs()
    const isOpen = !asked.isUsed && asked.end > now
    const isAllowed = isOpen && signer === asked.user && this.#listed.includes(asked.user)
    const opened = this.#access.signIn(signed(asked, signer), remote).then(
      ({ token }) => token,
      () => undefined,
    )
    const token = await opened
    assert.equal(token !== undefined, isAllowed)
    if (token === undefined) return
    asked.isUsed = true
    this.#sessions.push({ user: asked.user, token, end: now + limits.sessionMs, isOver: false })
  }

  async #list(listed: readonly number[]): Promise<void> {
    this.#listed = listed
    const value = listed.map((index) => keys[index] ?? '')
    await this.#settings.set(['admin', 'authorizedUsers'], value, 'test')
    for (const session of this.#sessions) session.isOver ||= !listed.includes(session.user)
  }

  #end(index: number): void {
    const session = this.#sessions.at(-1 - index)
    if (session === undefined) return
    this.#access.end(session.token)
    session.isOver = true
  }
}

function signed({ user: index, challenge }: Issued, signer: number): SignIn {
  const signature = users[signer]?.sign(adminSignInMessage(nodeId, challenge)) ?? []
  return { publicKey: keys[index] ?? '', challenge, signature: Buffer.from(signature).toString('base64') }
}

test('a session needs an open challenge, signed by a listed key, and ends in time or with its user', async () => {
  const holds = fc.asyncProperty(steps, async (all) => {
    const model = await Model.create()
    await model.apply({ do: 'list', listed: [0, 1] })
    for (const one of all) await model.apply(one)
    model.check()
  })
  await fc.assert(holds)
})
