import type { Endpoint } from '../../aql/index.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Events } from '../../events/index.ts'
import type { App } from '../../identity/index.ts'
import { type Answer, jsonTextAnswer } from '../answer.ts'
import type { Call } from '../call.ts'
import { optionalText } from '../members.ts'
import { queryText } from '../read-requests.ts'
import type { Route } from '../router.ts'

const endpoints: readonly Endpoint[] = ['query', 'subscribe', 'subscribe_monotonic']

/** Validates queries without running them, for editors. */
export function aqlRoutes(events: Promise<Events>): Route[] {
  const answer = async (call: Call, { appId }: App): Promise<Answer> => {
    const value = await call.json(limits.bodyBytes)
    const request = { appId, via: 'http', query: queryText(value), endpoint: endpointOf(value) } as const
    return jsonTextAnswer(200, await (await events).validate(request))
  }
  return [
    {
      path: '/api/v2/aql/validate',
      methods: { POST: { token: true, produces: 'application/json', consumes: 'json', answer } },
    },
  ]
}

function endpointOf(value: unknown): Endpoint {
  const given = optionalText(value, 'endpoint') ?? 'query'
  const endpoint = endpoints.find((name) => name === given)
  if (endpoint === undefined)
    throw failure('ERR_BAD_REQUEST', {
      cause: `unknown endpoint \`${given}\`, expected one of ${endpoints.join(', ')}`,
    })
  return endpoint
}
