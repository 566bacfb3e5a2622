import { invalidRequest } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Events, Reading } from '../../events/index.ts'
import type { App } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import { release } from '../../runtime/buffers.ts'
import type { Timers } from '../../runtime/timers.ts'
import { releaseBody } from '../body.ts'
import type { Call } from '../call.ts'
import { ndjsonResponse } from '../ndjson-response.ts'
import { monotonicRequest, queryRequest, type RequestingApp, subscribeRequest } from '../read-requests.ts'
import { type HttpResponse, jsonResponse, jsonTextResponse } from '../response.ts'
import type { Route } from '../router.ts'

const json = 'application/json'
const ndjson = 'application/x-ndjson'

export interface EventParts {
  /** The events of the current topic: requests wait until they are open, and fail while the topic is changed. */
  readonly events: () => Promise<Events>
  readonly log: Logger
  readonly timers: Timers
  /** Keep-alive interval of a streamed response. */
  readonly keepAliveMs?: number
}

/** Publish, query and subscribe. */
export function eventRoutes({ events, log, timers, keepAliveMs = limits.keepAliveMs }: EventParts): Route[] {
  const offsets = async (): Promise<HttpResponse> => jsonResponse(200, await (await events()).offsets())
  const publish = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const body = await call.body(limits.bodyBytes)
    const published = await (await events()).publish(appId, body)
    releaseBody(body)
    const response = jsonTextResponse(200, published)
    return typeof published === 'string' ? response : { ...response, sent: () => release(published) }
  }
  /** A route that streams query results: how to parse its request, and how to start the query. */
  const readRoute = <T>(
    path: string,
    parse: (value: unknown, app: RequestingApp) => T,
    start: (events: Events, request: T) => Reading,
  ): Route => {
    const handle = async (call: Call, { appId }: App): Promise<HttpResponse> => {
      const request = parse(await call.json(limits.bodyBytes), { appId, via: 'http' })
      return await ndjsonResponse(start(await events(), request), call, log, timers, keepAliveMs)
    }
    return { path, methods: { POST: { authenticated: true, produces: ndjson, consumes: 'json', handle } } }
  }
  return [
    readRoute('/api/v2/events/query', queryRequest, (opened, request) => opened.query(request)),
    readRoute('/api/v2/events/subscribe', subscribeRequest, (opened, request) => opened.subscribe(request)),
    readRoute('/api/v2/events/subscribe_monotonic', monotonicRequest, (opened, request) =>
      opened.subscribeMonotonic(request),
    ),
    { path: '/api/v2/events', methods: { GET: { authenticated: false, handle: upgradeMissing } } },
    { path: '/api/v2/events/offsets', methods: { GET: { authenticated: true, produces: json, handle: offsets } } },
    {
      path: '/api/v2/events/publish',
      methods: { POST: { authenticated: true, produces: json, consumes: 'json', handle: publish } },
    },
  ]
}

/** A plain GET request for the WebSocket endpoint. */
function upgradeMissing(): HttpResponse {
  throw invalidRequest('This is a WebSocket endpoint: the header `Upgrade: websocket` is missing.')
}
