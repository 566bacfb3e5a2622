import { failure } from '../base/errors.ts'
import type { Files } from '../files/index.ts'
import type { Tokens } from '../identity/index.ts'
import { authenticate } from './authentication.ts'
import type { Call } from './call.ts'
import { acceptsHtml, acceptsJson, contentResponse, decodedPath } from './content/content-response.ts'
import { nameOf } from './hosts.ts'
import type { HttpResponse } from './response.ts'

/** Virtual hosts: serves named content at `<name>.<domain>`, without a token unless the name is private. */
export class Websites {
  readonly #files: () => Promise<Files>
  readonly #tokens: Tokens
  readonly #suffixes: readonly string[]
  /** The last `Host` header that is no website: a cache, as most clients send the same one again. */
  #lastApiHost: string | undefined

  constructor(files: () => Promise<Files>, tokens: Tokens, domains: readonly string[]) {
    this.#files = files
    this.#tokens = tokens
    this.#suffixes = domains.map((domain) => `.${domain.toLowerCase()}`)
  }

  /** The response of a website; nothing for API requests, which every website can send to its own origin. */
  respond(call: Call): Promise<HttpResponse | undefined> | undefined {
    const { host } = call.request.headers
    if (host !== undefined && host === this.#lastApiHost) return undefined
    const name = this.#nameOf(host)
    if (name !== undefined) return this.#respond(call, name)
    this.#lastApiHost = host
    return undefined
  }

  async #respond(call: Call, name: string): Promise<HttpResponse | undefined> {
    const isApi = /^\/api\/v2(\/|$)/.test(call.path)
    if (call.method !== 'GET' && call.method !== 'HEAD') {
      if (isApi) return undefined
      throw failure('ERR_METHOD_NOT_ALLOWED', {})
    }
    const files = await this.#files()
    const path = decodedPath(call.path)
    const { content, isPrivate } = path === undefined ? {} : await files.findSite(name, path)
    if (isApi && content === undefined) return undefined
    if (isPrivate === true) authenticate(this.#tokens, call)
    const prefersIndex = acceptsHtml(call) || !acceptsJson(call)
    return await contentResponse(call, files, { content, by: 'name', path: path ?? [] }, prefersIndex)
  }

  #nameOf(host: string | undefined): string | undefined {
    const name = nameOf(host ?? '')
    const suffix = this.#suffixes.find((end) => name.endsWith(end))
    return suffix === undefined ? undefined : name.slice(0, -suffix.length)
  }
}
