import { failure, invalidRequest } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { QueryRequest, SubscribeRequest } from '../events/index.ts'
import { memberOf, memberText } from './members.ts'
import { offsetMap } from './offset-map.ts'

/** The app that sends a request, and its protocol. */
export type RequestingApp = Pick<QueryRequest, 'appId' | 'via'>

export function queryRequest(value: unknown, app: RequestingApp): QueryRequest {
  const query = queryText(value)
  const order = memberText(value, 'order')
  if (order !== 'asc' && order !== 'desc' && order !== 'stream-asc')
    throw failure('ERR_BAD_REQUEST', {
      cause: `unknown variant \`${order}\`, expected one of \`asc\`, \`desc\`, \`stream-asc\``,
    })
  const upper = memberOf(value, 'upperBound') ?? undefined
  const upperBound = upper === undefined ? undefined : offsetMap(upper, 'upperBound')
  return { ...app, query, order, lowerBound: lowerBound(value), upperBound }
}

export function subscribeRequest(value: unknown, app: RequestingApp): SubscribeRequest {
  return { ...app, query: queryText(value), lowerBound: lowerBound(value) }
}

/** `session` is required by the protocol but not used: the node keeps no state for it. */
export function monotonicRequest(value: unknown, app: RequestingApp): SubscribeRequest {
  memberText(value, 'session')
  return subscribeRequest(value, app)
}

export function queryText(value: unknown): string {
  const text = memberText(value, 'query')
  if (text.length > limits.queryBytes || Buffer.byteLength(text) > limits.queryBytes)
    throw invalidRequest(`The query has more than ${limits.queryBytes} bytes.`)
  return text
}

function lowerBound(value: unknown): SubscribeRequest['lowerBound'] {
  const lower = memberOf(value, 'lowerBound') ?? undefined
  return lower === undefined ? {} : offsetMap(lower, 'lowerBound')
}
