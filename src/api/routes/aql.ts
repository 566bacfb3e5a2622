import type { Endpoint } from '../../aql/index.ts'
import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Events } from '../../events/index.ts'
import type { App } from '../../identity/index.ts'
import type { Call } from '../call.ts'
import { optionalText } from '../members.ts'
import { queryText } from '../read-requests.ts'
import { type HttpResponse, jsonTextResponse } from '../response.ts'
import type { Route } from '../router.ts'

const endpoints: readonly Endpoint[] = ['query', 'subscribe', 'subscribe_monotonic']

/** Validates queries without running them, for editors. */
export function aqlRoutes(events: () => Promise<Events>): Route[] {
  const handle = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const value = await call.json(limits.bodyBytes)
    const request = { appId, via: 'http', query: queryText(value), endpoint: endpointOf(value) } as const
    return jsonTextResponse(200, await (await events()).validate(request))
  }
  return [
    {
      path: '/api/v2/aql/validate',
      methods: { POST: { authenticated: true, produces: 'application/json', consumes: 'json', handle } },
    },
  ]
}

function endpointOf(value: unknown): Endpoint {
  const requested = optionalText(value, 'endpoint') ?? 'query'
  const endpoint = endpoints.find((name) => name === requested)
  if (endpoint === undefined)
    throw failure('ERR_BAD_REQUEST', {
      cause: `unknown endpoint \`${requested}\`, expected one of ${endpoints.join(', ')}`,
    })
  return endpoint
}
