import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { failure } from '../base/errors.ts'

/**
 * The host names that the API accepts: protection against DNS rebinding. A website can let its own name resolve to
 * 127.0.0.1 and send same-origin requests to this node. They carry that name in their `Host` header and are rejected.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>
  readonly #domains: readonly string[]
  /** The last header that was accepted: a cache, as most clients send the same one again. */
  #lastAccepted: string | undefined

  /** Accepts `more` names, and every subdomain of `domains`. */
  constructor(more: readonly string[], domains: readonly string[] = []) {
    this.#domains = ['localhost', ...domains]
    const machine = hostname().toLowerCase()
    this.#names = new Set(['localhost', machine, `${machine}.local`, ...more.map((name) => name.toLowerCase())])
  }

  /** Throws unless the `Host` header names this node. Requests without one pass: browsers always send it. */
  check(header: string | undefined): void {
    if (header === undefined || header === this.#lastAccepted) return
    const name = nameOf(header)
    if (!this.#isOurs(name)) throw failure('ERR_HOST_NOT_ALLOWED', { host: header, name: suggested(name) })
    this.#lastAccepted = header
  }

  #isOurs(name: string): boolean {
    return this.#names.has(name) || isIP(name) !== 0 || this.#domains.some((domain) => name.endsWith(`.${domain}`))
  }
}

/** The name for the command that the error suggests, without characters that are special to a shell. */
function suggested(name: string): string {
  return /^[a-z0-9_.-]+$/.test(name) ? name : '<name>'
}

/** The host name in a `Host` header in lower case, without port, brackets and trailing dot. */
export function nameOf(header: string): string {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? []
  return (bracketed ?? plain).toLowerCase().replace(/\.$/, '')
}
