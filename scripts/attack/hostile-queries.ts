import type { Assault, Attack } from './attack.ts'
import { smallEvents, smallTag } from './prepared.ts'
import { countHttp, jsonRequest } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'

/** A sub-query with (a|b)&(a|b)&… twelve times, with templates as tags, so that it is planned for each event. */
function planned(factor: (n: number) => string): string {
  const tags = Array.from({ length: 12 }, (_, n) => factor(n)).join('&')
  return `FEATURES(subQuery interpolation) FROM '${smallTag}' SELECT FROM ${tags} END`
}

const plans: readonly string[] = [
  planned((n) => `(\`a${n}{_.n}\`|\`b${n}{_.n}\`)`),
  planned(() => '(`a{_.n}`|`b{_.n}`)'),
  // Does not depend on the event.
  planned((n) => `(\`a${n}\`|\`b${n}\`)`),
  planned((n) => `('a${n}'|'b${n}')`),
]

const textBytes = 1024 * 1024
function filled(before: string, part: string, after: string): string {
  return before + part.repeat(Math.floor((textBytes - before.length - after.length) / part.length)) + after
}

/** Query texts of 1 MiB. */
const texts: readonly string[] = [
  filled("FROM 'a' SELECT ", '(', ''),
  filled("FROM 'a' SELECT ", '!', 'TRUE'),
  filled("FROM 'a' SELECT [", '1,', '1]'),
  filled("FROM 'a' SELECT ", '1+', '1'),
  filled("FROM 'a' SELECT ", 'a.b ?? ', '1'),
  filled('FROM ', "'a'|", "'a'"),
  filled('FROM ', "'a'&", "'a'"),
  filled('FROM ', "('a'|'b')&", "'a'"),
  filled("FROM 'a' ", 'FILTER _ ', ''),
  filled("FROM 'a' SELECT '", 'x', "'"),
  filled("FEATURES(interpolation) FROM 'a' SELECT `", '{1}', '`'),
  filled("FROM 'a' SELECT {", 'a:1,', '}'),
  filled("FROM 'a' SELECT CASE TRUE => 1 ", 'CASE TRUE => 1 ', 'ENDCASE'),
  filled('PRAGMA events\n', '{"payload":1}\n', "ENDPRAGMA\nFROM 'a'"),
  `FROM ${Array.from({ length: 80_000 }, (_, n) => `'tag${n}'`).join('|')}`.slice(0, textBytes),
]

/** Queries that are expensive to parse or to plan. They must not delay an empty query of another client. */
export const hostileQueries: Attack = {
  name: 'hostile-queries',
  description: 'thirty queries that plan a sub-query for each event, and query texts of 1 MiB one after the other',
  emptyQueryMs: 100,
  async prepare(victim) {
    await smallEvents(victim)
    // A syntax error would make them harmless.
    for (const query of plans)
      await victim.request('POST', '/api/v2/aql/validate', 'application/json', JSON.stringify({ query }))
  },
  async run(assault) {
    const { signal } = assault
    let next = 0
    await Promise.all([
      crowd(30, signal, (n) => readAnswer(assault, 'query', plans[n % plans.length])),
      crowd(2, signal, () => readAnswer(assault, 'query', texts[next++ % texts.length])),
      crowd(1, signal, () => readAnswer(assault, 'validate', texts[next++ % texts.length])),
    ])
  },
}

async function readAnswer(assault: Assault, kind: 'query' | 'validate', query = ''): Promise<void> {
  const { victim, signal } = assault
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  const path = kind === 'query' ? '/api/v2/events/query' : '/api/v2/aql/validate'
  const request = jsonRequest(victim, path, { query, order: 'asc' }, { connection: 'close' })
  // The response is read completely, so that backpressure does not stop the query.
  if (await raw.reading().send(request, signal)) await raw.hold(signal)
  await countHttp(raw, assault)
}
