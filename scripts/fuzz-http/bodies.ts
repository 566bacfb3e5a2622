import { allCases } from '../../test/aql/cases.ts'
import type { Random } from '../crash/random.ts'
import { anyText } from '../fuzz/texts.ts'
import { anyValue } from './json-texts.ts'

const [firstQuery = '', ...otherQueries] = allCases.flatMap(({ query }) => (typeof query === 'string' ? [query] : []))
const queries: readonly [string, ...string[]] = [firstQuery, ...otherQueries]
const tags = ['a', 'b', 'é', 'e\u0301', 'discovery', 'x'.repeat(1024)] as const
const bounds = [
  {},
  null,
  { [`${'.'.repeat(43)}-0`]: 7 },
  { nonsense: 1 },
  { [`${'.'.repeat(43)}-0`]: 1e300 },
  [],
  'max',
]
const cids = ['bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y', 'bafy', 'x'] as const
const orders = ['asc', 'desc', 'stream-asc', 'up', null] as const

function anyQuery(random: Random): string {
  if (random.chance(0.3)) return random.pick(["FROM 'a'", 'FROM allEvents', "FROM 'a' | 'b' SELECT _.k0 ?? 1"])
  return random.chance(0.4) ? random.pick(queries) : anyText(random, queries)
}

/** The multipart boundary. */
export const boundary = 'limit'

const fileNames = ['a', 'b', 'folder/a', '/a', '../a', 'a//b', '', 'é', 'x'.repeat(5000)] as const

/** A multipart body of an upload. */
export function anyForm(random: Random): Buffer {
  const parts = Array.from({ length: random.below(4) }, () => {
    const head = `Content-Disposition: form-data; name="file"; filename="${random.pick(fileNames)}"`
    return `--${boundary}\r\n${head}\r\n\r\n${JSON.stringify(anyValue(random))}\r\n`
  })
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`)
}

/** A valid body for publish. */
function publishBody(random: Random): unknown {
  const data = Array.from({ length: random.below(20) }, () => ({
    tags: Array.from({ length: random.below(4) }, () => random.pick(tags)),
    payload: anyValue(random),
  }))
  return { data }
}

/** A body with the right form for an endpoint; its values may be invalid. */
export function anyBody(path: string, random: Random): unknown {
  const query = anyQuery(random)
  const lowerBound = random.pick(bounds as [unknown, ...unknown[]])
  switch (path.split('/').at(-1)) {
    case 'publish':
      return publishBody(random)
    case 'query': {
      const upperBound = random.pick(bounds as [unknown, ...unknown[]])
      return { query, order: random.pick(orders), ...(random.chance(0.2) && { lowerBound, upperBound }) }
    }
    case 'subscribe':
      return { query, ...(random.chance(0.2) && { lowerBound }) }
    case 'subscribe_monotonic':
      return { session: 's', query, ...(random.chance(0.2) && { lowerBound }) }
    case 'validate':
      return { query, endpoint: random.pick(['query', 'subscribe', 'x']) }
    case 'prefetch':
      return { query, duration: { secs: random.below(100), nanos: 0 } }
    case 'remove':
      return { cid: random.pick(cids) }
    case 'auth':
      return { appId: random.pick(['com.example.a', 'A', '..', '']), displayName: 'x', version: '1', signature: null }
    default:
      return anyValue(random)
  }
}
