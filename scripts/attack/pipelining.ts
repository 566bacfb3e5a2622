import type { Assault, Attack } from './attack.ts'
import { countHttp, headOf, jsonRequest } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'
import { countWebSocket, openWebSocket, requestFrame } from './raw-websocket.ts'

/** Requests per write. */
const together = 5000
const body = { data: [{ tags: ['attack:pipelined'], payload: 'x'.repeat(200) }] }

/** Pipelined requests whose responses are not read. */
export const pipelining: Attack = {
  name: 'pipelining',
  description: 'thousands of publishes and requests for offsets in one go, over WebSockets and HTTP, no answer read',
  goal: { megabytes: 40 },
  async run(assault) {
    const { victim, signal } = assault
    const isPublish = (n: number) => n % 2 === 0
    const socketRequests = [0, 1].map((kind) =>
      Buffer.concat(
        Array.from({ length: together }, (_, id) =>
          isPublish(kind) ? requestFrame(id, 'publish', body) : requestFrame(id, 'offsets', null),
        ),
      ),
    )
    const offsets = headOf(victim, { method: 'GET', path: '/api/v2/events/offsets' })
    const httpRequests = [jsonRequest(victim, '/api/v2/events/publish', body), offsets].map((request) =>
      Buffer.from(request.repeat(together)),
    )
    await Promise.all([
      crowd(4, signal, (n) => pipelined(assault, socketRequests[n % 2], openWebSocket, countWebSocket)),
      crowd(4, signal, (n) => pipelined(assault, httpRequests[n % 2], RawSocket.open, countHttp)),
    ])
  },
}

async function pipelined(
  assault: Assault,
  requests = Buffer.alloc(0),
  open: (assault: Assault) => Promise<RawSocket | undefined>,
  count: (raw: RawSocket, assault: Assault) => Promise<void>,
): Promise<void> {
  const raw = await open(assault)
  if (raw === undefined) return
  while (await raw.send(requests, assault.signal));
  await count(raw, assault)
}
