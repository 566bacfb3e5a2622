import type { Assault, Attack } from './attack.ts'
import { largeEvents, largeTag, smallEvents, smallTag } from './prepared.ts'
import { jsonRequest, leaveUnread } from './raw-http.ts'
import { crowd } from './raw-socket.ts'
import { countWebSocket, openWebSocket, requestFrame } from './raw-websocket.ts'

/** Queries with large results of different kinds. */
const queries: readonly string[] = [
  // One result of almost 32 MiB.
  `FROM '${largeTag}' LIMIT 1 SELECT [_, _, _, _]`,
  // Results of almost 32 MiB, one after the other.
  `FROM '${largeTag}' SELECT [_, _, _, _]`,
  // Strings of the maximum length of a template.
  `FEATURES(interpolation) FROM '${largeTag}' LET a := \`{_}\` SELECT [a, a, a]`,
  // The memory of a sub-query.
  `FEATURES(subQuery) FROM '${largeTag}' SELECT FROM '${largeTag}' LIMIT 3 END`,
  `FEATURES(subQuery) FROM '${largeTag}' SELECT FROM '${smallTag}' END`,
  // Above the memory limit of a query: it fails, and must release everything.
  `FEATURES(aggregate) FROM '${largeTag}' AGGREGATE [FIRST(_), LAST(_), MIN(_), MAX(_)]`,
  // Many small results.
  `FROM '${smallTag}'`,
]

/** Queries with large unread results. */
export const unreadQueries: Attack = {
  name: 'unread-queries',
  description: '96 queries with large results over HTTP and over WebSockets, none of which is read',
  goal: { answers: 64 },
  async prepare(victim) {
    await smallEvents(victim)
    await largeEvents(victim)
  },
  async run(assault) {
    const { victim, signal } = assault
    const queryOf = (n: number) => ({ query: queries[n % queries.length] ?? '', order: 'asc' })
    await Promise.all([
      crowd(64, signal, (n) => leaveUnread(assault, jsonRequest(victim, '/api/v2/events/query', queryOf(n)))),
      // Four WebSockets with eight queries each.
      crowd(4, signal, (n) =>
        unreadOnWebSocket(
          assault,
          Array.from({ length: 8 }, (_, i) => queryOf(n + i)),
        ),
      ),
    ])
  },
}

async function unreadOnWebSocket(assault: Assault, requests: readonly unknown[]): Promise<void> {
  const raw = await openWebSocket(assault)
  if (raw === undefined) return
  const frames = requests.map((payload, requestId) => requestFrame(requestId, 'query', payload))
  if (await raw.send(Buffer.concat(frames), assault.signal)) await raw.hold(assault.signal)
  await countWebSocket(raw, assault)
}
