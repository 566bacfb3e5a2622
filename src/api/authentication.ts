import { failure, ShoalError } from '../base/errors.ts'
import type { App, Tokens } from '../identity/index.ts'
import type { Call } from './call.ts'

const parameter = 'access_token='

/** Authenticates a request by its `access_token` query parameter, or else by its `Authorization` header. */
export function authenticate(tokens: Tokens, { query, request }: Call): App {
  const inQuery = query === undefined ? undefined : tokenParameter(query)
  if (inQuery !== undefined) return checkEncoded(tokens, inQuery)
  const header = request.headers.authorization
  if (header === undefined) throw failure('ERR_MISSING_AUTH_HEADER', {})
  return tokens.check(tokenIn(header))
}

/** The last parsed `Authorization` header and its token. Most clients send the same header again. */
let last: { readonly header: string; readonly token: string } | undefined

function tokenIn(header: string): string {
  if (last?.header === header) return last.token
  const [type = '', token = ''] = header.trim().split(/\s+/)
  if (type !== 'Bearer') throw failure('ERR_UNSUPPORTED_AUTH_TYPE', { type })
  last = { header, token }
  return token
}

/** The `access_token` parameter of a query string. */
export function tokenParameter(query: string): string | undefined {
  return query
    .split('&')
    .find((part) => part.startsWith(parameter))
    ?.slice(parameter.length)
}

/** Checks a token from a URL, which may be percent-encoded or not. */
export function checkEncoded(tokens: Tokens, token: string): App {
  try {
    return tokens.check(token)
  } catch (error) {
    const decoded = percentDecoded(token)
    if (!(error instanceof ShoalError) || decoded === token) throw error
    return tokens.check(decoded)
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
