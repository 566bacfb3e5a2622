import { failure, ShoalError } from '../errors.ts'
import type { App, Tokens } from '../identity/index.ts'
import type { Call } from './call.ts'

const parameter = 'access_token='

/** The app that makes a call: by the token in its query, or else in its header. */
export function authenticate(tokens: Tokens, { query, request }: Call): App {
  const inQuery = query?.split('&').find((part) => part.startsWith(parameter))
  if (inQuery !== undefined) return checkEncoded(tokens, inQuery.slice(parameter.length))
  const header = request.headers.authorization
  if (header === undefined) throw failure('ERR_MISSING_AUTH_HEADER', {})
  const [type = '', token = ''] = header.trim().split(/\s+/)
  if (type !== 'Bearer') throw failure('ERR_UNSUPPORTED_AUTH_TYPE', { type })
  return tokens.check(token)
}

/** A token in a URL may be percent-encoded or not. */
function checkEncoded(tokens: Tokens, token: string): App {
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
