import {
  AqlError,
  checkFeatures,
  compile,
  type Endpoint,
  enabledFeatures,
  format,
  inlineEvents,
  type MainQuery,
  parseQuery,
  print,
  usedFeatures,
} from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output/output.ts'

/** Validates a query for an endpoint, and lists the features that it uses. */
export async function checkQuery(argument: string, endpoint: Endpoint): Promise<Result> {
  const query = readQuery(argument)
  const problem = checkFeatures(query, endpoint)
  if (problem !== undefined) throw new ShoalError('ERR_INVALID_INPUT', problem.message)
  const [used, enabled] = [usedFeatures(query), enabledFeatures(query)]
  const features = used.length === 0 ? 'It uses no features.' : `It uses these features: ${used.join(' ')}.`
  return {
    text: () => `The query can be sent to \`${endpoint}\`. ${features}`,
    json: { endpoint, used, enabled, canonical: print(query) },
  }
}

/** Pretty-prints a query, without redundant parentheses. */
export async function formatQuery(argument: string): Promise<Result> {
  const formatted = format(readQuery(argument))
  return { text: () => formatted, json: formatted }
}

/** Parses the query in an argument, or from stdin for `-`. */
export function readQuery(argument: string): MainQuery {
  return parsed(argument === '-' ? readSource('-') : argument)
}

/** Parses and compiles a query; throws its first error. */
export function parsed(text: string): MainQuery {
  const now = BigInt(systemClock.now())
  try {
    const query = parseQuery(text, { now })
    inlineEvents(query, now)
    compile(query)
    return query
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    // The detail of a syntax error is a code frame of several lines.
    const detail = thrown.kind === 'syntax' ? `Syntax error in the query.\n${thrown.detail}` : thrown.detail
    throw new ShoalError('ERR_INVALID_INPUT', detail)
  }
}
