import { failure } from '../../errors.ts'
import type { Events } from '../../events/index.ts'
import type { App } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import { type Answer, jsonAnswer, jsonTextAnswer } from '../answer.ts'
import type { Call } from '../call.ts'
import type { Route } from '../router.ts'

const json = 'application/json'

/** The events of the node; a call that comes before they are open waits for that. */
export function eventRoutes(events: Promise<Events>): Route[] {
  const offsets = async (): Promise<Answer> => jsonAnswer(200, await (await events).offsets())
  const publish = async (call: Call, { appId }: App): Promise<Answer> => {
    const body = await call.body(limits.bodyBytes)
    return jsonTextAnswer(200, await (await events).publish(appId, body))
  }
  return [
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
