import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { failure } from '../base/errors.ts'

/**
 * Names under which the API answers. A website can make its own name mean 127.0.0.1 and then ask this node as if it were
 * its own server; with its name as host, it gets nothing.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>
  readonly #domains: readonly string[]
  /** The header of whoever asked last, and was right: most come again and again. */
  #known: string | undefined

  /** Names, and domains of which every name is one. */
  constructor(more: readonly string[], domains: readonly string[] = []) {
    this.#domains = ['localhost', ...domains]
    const machine = hostname().toLowerCase()
    this.#names = new Set(['localhost', machine, `${machine}.local`, ...more.map((name) => name.toLowerCase())])
  }

  /** Throws unless the Host header means this node. Whoever sends none is no browser. */
  check(header: string | undefined): void {
    if (header === undefined || header === this.#known) return
    const name = nameOf(header)
    if (!this.#isOurs(name)) throw failure('ERR_HOST_NOT_ALLOWED', { host: header, name: suggested(name) })
    this.#known = header
  }

  #isOurs(name: string): boolean {
    return this.#names.has(name) || isIP(name) !== 0 || this.#domains.some((domain) => name.endsWith(`.${domain}`))
  }
}

/** The name for the command that an error suggests: nothing that a shell would take for something else. */
function suggested(name: string): string {
  return /^[a-z0-9_.-]+$/.test(name) ? name : '<name>'
}

/** The host without its port, its brackets and the dot at its end, in lower case. */
export function nameOf(header: string): string {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? []
  return (bracketed ?? plain).toLowerCase().replace(/\.$/, '')
}
