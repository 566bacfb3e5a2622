import { type Call, memberOf } from '../../api/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { JsonError } from '../../json/json-scanner.ts'

export const adminPath = '/api/v2/admin'

export function parametersOf({ query }: Call): URLSearchParams {
  return new URLSearchParams(query ?? '')
}

/** A parameter that is `true` or `false`. */
export function flagOf(parameters: URLSearchParams, name: string, fallback: boolean): boolean {
  const value = parameters.get(name)
  if (value === null) return fallback
  if (value !== 'true' && value !== 'false') throw invalid(`${name}: '${value}' is not allowed. Allowed: true, false.`)
  return value === 'true'
}

/** A parameter that is a positive number, with an upper limit. */
export function countOf(parameters: URLSearchParams, name: string, fallback: number, max: number): number {
  const value = parameters.get(name)
  if (value === null) return fallback
  const count = /^[1-9][0-9]{0,8}$/.test(value) ? Number(value) : Number.NaN
  if (!(count <= max)) throw invalid(`${name}: '${value}' is not allowed. Allowed: 1 to ${max}.`)
  return count
}

/** The revision in an `If-Match` header; undefined without one, or when any revision will do. */
export function expectedRevision({ request }: Call): number | undefined {
  const text = request.headers['if-match']
  if (text === undefined || text === '*') return undefined
  const [, digits] = /^"?(0|[1-9][0-9]{0,14})"?$/.exec(text) ?? []
  if (digits === undefined) throw invalid(`If-Match: '${text}' is not a revision of the settings. Allowed: its number.`)
  return Number(digits)
}

/** The JSON body of a request. */
export async function jsonBody(call: Call, limit: number = limits.settingsDocumentBytes): Promise<unknown> {
  try {
    return await call.json(limit)
  } catch (error) {
    if (error instanceof JsonError) throw invalid(`The request body is not JSON: ${error.message}`)
    throw error
  }
}

/** A required member of a request body. */
export function requiredMember(body: unknown, name: string, what: string): unknown {
  const member = memberOf(body, name)
  if (member === undefined || member === null) throw invalid(`The request body lacks \`${name}\`: ${what}.`)
  return member
}

export function invalid(cause: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', cause)
}

/** Whether a request may remove the last authorized user. */
export function isForced(call: Call): boolean {
  return flagOf(parametersOf(call), 'force', false)
}
