import { AqlError, checkFeatures, compile, type Endpoint, parseQuery, print, usedFeatures } from '../../aql/index.ts'
import { failure } from '../../errors.ts'
import { parseJson } from '../../json-scanner.ts'
import { limits } from '../../limits.ts'
import { nowMicros } from '../../time.ts'
import { type Answer, jsonAnswer } from '../answer.ts'
import type { Call } from '../call.ts'
import { optionalText } from '../members.ts'
import { queryText } from '../read-requests.ts'
import type { Route } from '../router.ts'

const endpoints: readonly Endpoint[] = ['query', 'subscribe', 'subscribe_monotonic']

/** Queries that are looked at and not run: for editors. */
export function aqlRoutes(): Route[] {
  const answer = async (call: Call): Promise<Answer> => {
    const value = parseJson(await call.body(limits.bodyBytes))
    return jsonAnswer(200, validation(queryText(value), endpointOf(value)))
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

function validation(text: string, endpoint: Endpoint): Record<string, unknown> {
  try {
    const query = parseQuery(text, { now: BigInt(nowMicros()) })
    compile(query)
    const problem = checkFeatures(query, endpoint)
    const known = { canonical: print(query), features: usedFeatures(query) }
    return problem === undefined ? { valid: true, ...known } : { valid: false, ...known, error: problem.message }
  } catch (error) {
    if (!(error instanceof AqlError)) throw error
    return { valid: false, error: error.detail, position: error.position }
  }
}
