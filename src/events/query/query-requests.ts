import { AqlError, type Endpoint, featureProblem, type MainQuery, parseSteps, type Steps } from '../../aql/index.ts'
import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { OffsetMap } from '../offsets.ts'

/** What a request to read events has in common with others, on its way to the thread that reads. */
export interface ReadRequest {
  readonly query: string
  /** The app that asks. */
  readonly appId: string
  /** How it came: errors are told in other words, and ends of streams in another way. Some the node asks for itself. */
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

/** The app that asks; none where the node reads for itself. */
export function appOf(request: unknown): string {
  return (request as Partial<ReadRequest>).appId ?? ''
}

/** Bytes that a request takes up while it is open, roughly: the maps of offsets, and what its text is made into. */
export function requestBytes(request: unknown): number {
  const { query = '', lowerBound = {}, upperBound = {} } = request as Partial<QueryRequest>
  const offsets = Object.keys(lowerBound).length + Object.keys(upperBound).length
  return limits.openStreamBytes + limits.openBytesPerCharacter * query.length + limits.openBytesPerOffset * offsets
}

/** The query of a request, if its endpoint takes it. */
export function* queryOf({ query: text, via }: ReadRequest, endpoint: Endpoint, clock: Clock): Steps<MainQuery> {
  const query = yield* told(parseSteps(text, { now: BigInt(clock.now()) }))
  const problem = yield* featureProblem(query, endpoint)
  if (problem === undefined) return query
  const { kind, message, socketMessage } = problem
  if (kind === 'unsupported' && via === 'http') throw new ShoalError('ERR_UNSUPPORTED_FEATURE', message)
  throw refused(via, via === 'http' ? message : socketMessage)
}

/** An error of whoever sent a request, in the words of the way it came. */
export function refused(via: ReadRequest['via'], message: string): ShoalError {
  return via === 'http' ? failure('ERR_BAD_REQUEST', { cause: message }) : new ShoalError('ERR_BAD_REQUEST', message)
}

/** Work on the text of a query: what is wrong with that is an error of whoever sent it. */
export function* told<T>(work: Steps<T>): Steps<T> {
  try {
    return yield* work
  } catch (error) {
    if (error instanceof AqlError) throw failure('ERR_BAD_REQUEST', { cause: error.detail })
    throw error
  }
}

/** The last line of a stream over HTTP that ends with an error. */
export function errorLine(message: string): string {
  return JSON.stringify({ code: 'ERR_BAD_REQUEST', message: `Invalid request. ${message}` })
}
