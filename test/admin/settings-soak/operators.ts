import assert from 'node:assert/strict'
import { formatPublicKey, KeyPair } from '../../../src/identity/index.ts'
import type { Listening } from '../../../src/listening/listen.ts'
import { type AdminAsked, ask, signIn } from '../../support/admin.ts'
import type { Answer } from '../../support/control.ts'
import type { RandomChange } from './random-change.ts'

/** Two users of the admin port. Changes come from one who is authorized at the moment. */
export class Operators {
  readonly #at: Listening
  readonly #keys = new Map([2, 3].map((seed) => new KeyPair(Buffer.alloc(32, seed))).map((key) => [textOf(key), key]))
  readonly #tokens = new Map<string, string>()

  constructor(at: Listening) {
    this.#at = at
  }

  get users(): [string, string] {
    return [...this.#keys.keys()] as [string, string]
  }

  /** The first of them is the first user of the node. */
  async claim(): Promise<void> {
    await this.#signIn(this.users[0])
  }

  async send(
    { method, path, body, ifMatch }: RandomChange,
    authorized: readonly string[],
    { dryRun = false } = {},
  ): Promise<Answer> {
    const headers = {
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      ...(ifMatch !== undefined && { 'if-match': String(ifMatch) }),
    }
    const query = `${path.includes('?') ? '&' : '?'}dryRun=${dryRun}`
    const asked = { headers, body: body === undefined ? '' : JSON.stringify(body) }
    return await this.#ask(authorized, method, path + query, asked)
  }

  async displayName(authorized: readonly string[]): Promise<string> {
    return (await this.#ask(authorized, 'GET', '/node')).body.displayName
  }

  /** The sessions of users who are not authorized any more have ended. */
  async checkRemoved(authorized: readonly string[]): Promise<void> {
    for (const [user, token] of this.#tokens) {
      if (authorized.includes(user)) continue
      assert.equal((await ask(this.#at, 'GET', '/node', { token })).status, 403)
      this.#tokens.delete(user)
    }
  }

  async #ask([user = '']: readonly string[], method: string, path: string, asked: AdminAsked = {}): Promise<Answer> {
    const token = this.#tokens.get(user) ?? (await this.#signIn(user))
    return await ask(this.#at, method, path, { ...asked, token })
  }

  async #signIn(user: string): Promise<string> {
    const { body, status } = await signIn(this.#at, this.#keys.get(user) as KeyPair)
    assert.equal(status, 200, JSON.stringify(body))
    this.#tokens.set(user, body.token)
    return body.token
  }
}

function textOf(key: KeyPair): string {
  return formatPublicKey(key.publicKey)
}
