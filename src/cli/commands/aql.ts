import {
  AqlError,
  checkFeatures,
  compile,
  type Endpoint,
  enabledFeatures,
  format,
  givenEvents,
  type MainQuery,
  parseQuery,
  print,
  usedFeatures,
} from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output.ts'

/** Says whether a query can be sent to an endpoint, and what it uses. */
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

/** Writes a query in lines, without what it does not need. */
export async function formatQuery(argument: string): Promise<Result> {
  const formatted = format(readQuery(argument))
  return { text: () => formatted, json: formatted }
}

/** The query that an argument is, or that comes from the standard input. */
export function readQuery(argument: string): MainQuery {
  return parsed(argument === '-' ? readSource('-') : argument)
}

/** A query that can be run, as far as its text tells. */
export function parsed(text: string): MainQuery {
  const now = BigInt(systemClock.now())
  try {
    const query = parseQuery(text, { now })
    givenEvents(query, now)
    compile(query)
    return query
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    // The detail of a syntax error shows the place, which needs lines of its own.
    const detail = thrown.kind === 'syntax' ? `This is no query.\n${thrown.detail}` : thrown.detail
    throw new ShoalError('ERR_INVALID_INPUT', detail)
  }
}
