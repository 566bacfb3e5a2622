import { setTimeout as delay } from 'node:timers/promises'
import type { Assault, Attack } from './attack.ts'
import { jsonRequest } from './raw-http.ts'
import { RawSocket } from './raw-socket.ts'
import { openWebSocket, requestFrame } from './raw-websocket.ts'

/** All open streams that the node allows, except the one of the bystander. */
const subscriptions = 1023
const perSocket = 128
const tag = 'attack:idle'

/** Not an attack: the maximum number of subscriptions has to fit into the memory bound. */
export const idleSubscriptions: Attack = {
  name: 'idle-subscriptions',
  description: `${subscriptions} idle subscriptions over HTTP and WebSockets, which all have to get an event in the end`,
  takesAllStreams: true,
  async run(assault) {
    const half = Math.ceil(subscriptions / 2)
    const overHttp = await Promise.all(Array.from({ length: half }, () => subscribe(assault)))
    const overSockets = await subscribeOnWebSockets(assault, subscriptions - half)
    const clients = [...overHttp, ...overSockets]
    try {
      await delay(600_000, undefined, { signal: assault.signal }).catch(() => {})
      await expectEvent(assault, clients)
    } finally {
      for (const { raw } of clients) raw.destroy()
    }
  },
}

/** Opens a connection with a number of subscriptions. */
interface Client {
  readonly raw: RawSocket
  readonly subscriptions: number
}

async function subscribe(assault: Assault): Promise<Client> {
  const raw = await RawSocket.open(assault)
  if (raw === undefined) throw new Error('a subscription got no connection')
  const request = jsonRequest(assault.victim, '/api/v2/events/subscribe', { query: `FROM '${tag}'` })
  await raw.reading().send(request, assault.signal)
  return { raw, subscriptions: 1 }
}

async function subscribeOnWebSockets(assault: Assault, count: number): Promise<Client[]> {
  const clients: Client[] = []
  for (let left = count; left > 0; left -= perSocket) {
    const raw = await openWebSocket(assault)
    if (raw === undefined) throw new Error('a WebSocket was refused')
    const subscriptions = Math.min(perSocket, left)
    for (let id = 0; id < subscriptions; id++)
      await raw.reading().send(requestFrame(id, 'subscribe', { query: `FROM '${tag}'` }), assault.signal)
    clients.push({ raw, subscriptions })
  }
  return clients
}

/** Publishes an event that every subscription has to receive within five seconds. */
async function expectEvent({ victim, tally }: Assault, clients: readonly Client[]): Promise<void> {
  const mark = 'the idle are served'
  await victim.publish([tag], [mark])
  const served = (): number => {
    let sum = 0
    for (const { raw } of clients) sum += raw.received.toString('latin1').split(mark).length - 1
    return sum
  }
  for (let waited = 0; waited < 5000 && served() < subscriptions; waited += 50) await delay(50)
  const count = served()
  for (let n = 0; n < count; n++) tally.count('event')
  if (count !== subscriptions) throw new Error(`only ${count} of ${subscriptions} idle subscriptions got the event`)
}
