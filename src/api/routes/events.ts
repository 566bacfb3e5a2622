import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Events, Reading } from '../../events/index.ts'
import type { App } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import { release } from '../../runtime/buffers.ts'
import type { Timers } from '../../runtime/timers.ts'
import { type Answer, jsonAnswer, jsonTextAnswer } from '../answer.ts'
import { giveBack } from '../body.ts'
import type { Call } from '../call.ts'
import { ndjsonAnswer } from '../ndjson-answer.ts'
import { type Asker, monotonicRequest, queryRequest, subscribeRequest } from '../read-requests.ts'
import type { Route } from '../router.ts'

const json = 'application/json'
const ndjson = 'application/x-ndjson'

export interface EventParts {
  /** A call that comes before they are open waits for that. */
  readonly events: Promise<Events>
  readonly log: Logger
  readonly timers: Timers
  /** Milliseconds without anything to say after which a stream says an empty line. */
  readonly keepAliveMs?: number
}

/** The events of the node. */
export function eventRoutes({ events, log, timers, keepAliveMs = limits.keepAliveMs }: EventParts): Route[] {
  const offsets = async (): Promise<Answer> => jsonAnswer(200, await (await events).offsets())
  const publish = async (call: Call, { appId }: App): Promise<Answer> => {
    const body = await call.body(limits.bodyBytes)
    const published = await (await events).publish(appId, body)
    giveBack(body)
    const answer = jsonTextAnswer(200, published)
    return typeof published === 'string' ? answer : { ...answer, sent: () => release(published) }
  }
  /** An endpoint that reads events: what it is asked, and who answers that. */
  const reads = <T>(
    path: string,
    parse: (value: unknown, asker: Asker) => T,
    start: (events: Events, request: T) => Reading,
  ): Route => {
    const answer = async (call: Call, { appId }: App): Promise<Answer> => {
      const request = parse(await call.json(limits.bodyBytes), { appId, via: 'http' })
      return await ndjsonAnswer(start(await events, request), call, log, timers, keepAliveMs)
    }
    return { path, methods: { POST: { token: true, produces: ndjson, consumes: 'json', answer } } }
  }
  return [
    reads('/api/v2/events/query', queryRequest, (opened, request) => opened.query(request)),
    reads('/api/v2/events/subscribe', subscribeRequest, (opened, request) => opened.subscribe(request)),
    reads('/api/v2/events/subscribe_monotonic', monotonicRequest, (opened, request) =>
      opened.subscribeMonotonic(request),
    ),
    { path: '/api/v2/events', methods: { GET: { token: false, answer: noSocket } } },
    { path: '/api/v2/events/offsets', methods: { GET: { token: true, produces: json, answer: offsets } } },
    {
      path: '/api/v2/events/publish',
      methods: { POST: { token: true, produces: json, consumes: 'json', answer: publish } },
    },
  ]
}

/** Whoever asks for the WebSocket as if it were a page. */
function noSocket(): Answer {
  throw failure('ERR_BAD_REQUEST', { cause: 'This is a WebSocket: the request lacks `Upgrade: websocket`.' })
}
