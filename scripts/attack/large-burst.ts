import type { Assault, Attack } from './attack.ts'
import { countHttp, headOf } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'
import { countWebSocket, frameHead, opcodes, openWebSocket } from './raw-websocket.ts'

const mebibyte = 1024 * 1024
const text = Buffer.alloc(mebibyte, 'x')
/** Messages that are stored: more would fill the disk before the attack is over. */
const mostStored = 12

/** A burst of messages and bodies of the maximum size. Their memory has to be released afterwards. */
export const largeBurst: Attack = {
  name: 'large-burst',
  description: '24 clients with WebSocket messages of 50 MiB and 24 with publishes of 60 MiB, all at once',
  goal: { megabytes: 1500 },
  async run(assault) {
    const { signal } = assault
    let stored = 0
    const isStored = (): boolean => assault.random.chance(0.2) && ++stored <= mostStored
    await Promise.all([
      crowd(24, signal, () => largeMessage(assault, partsOf(50, isStored()))),
      crowd(24, signal, () => largePublish(assault, partsOf(60, isStored()))),
    ])
  },
}

/**
 * The JSON of a publish call of a size in mebibytes, in shared parts: events of 5 MiB, optionally malformed at the end.
 */
function partsOf(mebibytes: number, isValid: boolean): Buffer[] {
  const parts = [Buffer.from('{"data":[')]
  for (let left = mebibytes; left > 0; left -= 5) {
    parts.push(Buffer.from('{"tags":["attack:burst"],"payload":"'), text, text, text, text, text)
    parts.push(Buffer.from(left > 5 ? '"},' : '"}'))
  }
  parts.push(Buffer.from(isValid ? ']}' : ']]'))
  return parts
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

async function largeMessage(assault: Assault, body: readonly Buffer[]): Promise<void> {
  const raw = await openWebSocket(assault)
  if (raw === undefined) return
  const parts = [
    Buffer.from('{"type":"request","requestId":1,"serviceId":"publish","payload":'),
    ...body,
    Buffer.from('}'),
  ]
  await sendAll(raw, [frameHead(opcodes.text, lengthOf(parts)), ...parts], assault)
  await countWebSocket(raw, assault)
}

async function largePublish(assault: Assault, body: readonly Buffer[]): Promise<void> {
  const { victim } = assault
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  const headers = { 'content-type': 'application/json', 'content-length': lengthOf(body) }
  const head = Buffer.from(headOf(victim, { method: 'POST', path: '/api/v2/events/publish', headers }))
  await sendAll(raw, [head, ...body], assault)
  await countHttp(raw, assault)
}

/** Sends all parts, and waits until they are in kernel buffers. The response follows soon after. */
async function sendAll(raw: RawSocket, parts: readonly Buffer[], { signal }: Assault): Promise<void> {
  for (const part of parts) if (!(await raw.send(part, signal))) return
  await raw.answered(signal)
}
