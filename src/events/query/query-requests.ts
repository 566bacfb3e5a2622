import { AqlError, type Endpoint, featureProblem, type MainQuery, parseSteps, type Steps } from '../../aql/index.ts'
import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { OffsetMap } from '../offsets.ts'

/** The common part of requests to the reader thread. */
export interface ReadRequest {
  readonly query: string
  /** The requesting app. */
  readonly appId: string
  /** The API of the request, which decides the form of errors; `node` for the node itself. */
  readonly via: 'http' | 'websocket' | 'node'
}

export interface QueryRequest extends ReadRequest {
  readonly order: 'asc' | 'desc' | 'stream-asc'
  readonly lowerBound: OffsetMap
  readonly upperBound: OffsetMap | undefined
}

export interface SubscribeRequest extends ReadRequest {
  readonly lowerBound: OffsetMap
}

/** The requesting app; empty when the node reads for itself. */
export function appOf(request: unknown): string {
  return (request as Partial<ReadRequest>).appId ?? ''
}

/** Estimated memory of a request while it is open: its offset maps, and the parsed and compiled query. */
export function requestBytes(request: unknown): number {
  const { query = '', lowerBound = {}, upperBound = {} } = request as Partial<QueryRequest>
  const offsets = Object.keys(lowerBound).length + Object.keys(upperBound).length
  return limits.openQueryBytes + limits.openBytesPerCharacter * query.length + limits.openBytesPerOffset * offsets
}

/** Parses the query of a request, and checks that the endpoint supports its features. */
export function* queryOf({ query: text, via }: ReadRequest, endpoint: Endpoint, clock: Clock): Steps<MainQuery> {
  const query = yield* mapQueryErrors(parseSteps(text, { now: BigInt(clock.now()) }))
  const problem = yield* featureProblem(query, endpoint)
  if (problem === undefined) return query
  const { kind, message, socketMessage } = problem
  if (kind === 'unsupported' && via === 'http') throw new ShoalError('ERR_UNSUPPORTED_FEATURE', message)
  throw badRequest(via, via === 'http' ? message : socketMessage)
}

/** The error for an invalid request, in the form of its API. */
export function badRequest(via: ReadRequest['via'], message: string): ShoalError {
  return via === 'http' ? failure('ERR_BAD_REQUEST', { cause: message }) : new ShoalError('ERR_BAD_REQUEST', message)
}

/** Turns errors in the text of a query into `ERR_BAD_REQUEST`. */
export function* mapQueryErrors<T>(work: Steps<T>): Steps<T> {
  try {
    return yield* work
  } catch (error) {
    if (error instanceof AqlError) throw failure('ERR_BAD_REQUEST', { cause: error.detail })
    throw error
  }
}

/** The last line of an HTTP response that ends with an error. */
export function errorLine(message: string): string {
  return JSON.stringify({ code: 'ERR_BAD_REQUEST', message: `Invalid request. ${message}` })
}
