import type { Assault } from './attack.ts'
import { headOf, statusesIn } from './raw-http.ts'
import { RawSocket } from './raw-socket.ts'

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** A client frame header. The mask is zero, so that payloads can be sent unchanged. */
export function frameHead(opcode: number, length: number, isFinal = true): Buffer {
  const first = (isFinal ? 0x80 : 0) | opcode
  const mask = [0, 0, 0, 0]
  if (length < 126) return Buffer.from([first, 0x80 | length, ...mask])
  if (length < 65_536) return Buffer.from([first, 0x80 | 126, length >> 8, length & 255, ...mask])
  const head = Buffer.alloc(14)
  head[0] = first
  head[1] = 0x80 | 127
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

/** A complete frame. */
export function frame(opcode: number, payload: Buffer | string, isFinal = true): Buffer {
  const bytes = Buffer.from(payload)
  return Buffer.concat([frameHead(opcode, bytes.length, isFinal), bytes])
}

/** A message with an API request. */
export function requestFrame(requestId: number, serviceId: string, payload: unknown): Buffer {
  return frame(opcodes.text, JSON.stringify({ type: 'request', requestId, serviceId, payload }))
}

/** Opens a WebSocket and reads nothing after the upgrade response; undefined if it was refused. */
export async function openWebSocket(assault: Assault): Promise<RawSocket | undefined> {
  const { victim, tally, signal } = assault
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return undefined
  const headers = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': 13,
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const path = `/api/v2/events?${victim.token}`
  await raw.send(headOf(victim, { method: 'GET', path, headers, hasToken: false }), signal)
  await raw.answered(signal)
  raw.socket.pause()
  const [status] = statusesIn(raw.received.toString('latin1'))
  if (status === '101') return raw
  if (!signal.aborted)
    tally.count(
      status ?? (raw.isOpen ? 'no answer to the upgrade' : `closed during the upgrade (${raw.error ?? 'end'})`),
    )
  raw.destroy()
  return undefined
}

/** Reads the received messages of a WebSocket, closes it and counts the messages and the close code. */
export async function countWebSocket(raw: RawSocket, { tally }: Assault): Promise<void> {
  const { bytes, isClosed } = await raw.look()
  const { messages, code } = framesIn(afterUpgrade(bytes))
  for (const text of messages) tally.count(kindOf(text))
  if (code !== undefined) tally.count(`close code ${code}`)
  else if (isClosed) tally.count(`cut off (${raw.error ?? 'end'})`)
  else tally.count('still open at the end')
}

/** The bytes after the upgrade response. */
export function afterUpgrade(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n\r\n')
  return bytes.subarray(end < 0 ? bytes.length : end + 4)
}

interface ReceivedFrames {
  readonly messages: readonly string[]
  readonly code: number | undefined
}

/** The text messages and the close code in server frames. The last frame may be truncated. */
export function framesIn(bytes: Buffer): ReceivedFrames {
  const messages: string[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const opcode = bytes.readUInt8(at) & 15
    const short = bytes.readUInt8(at + 1) & 127
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
    if (start > bytes.length) break
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUIntBE(at + 4, 6)
    const payload = bytes.subarray(start, start + length)
    if (opcode === opcodes.close) return { messages, code: payload.length >= 2 ? payload.readUInt16BE(0) : 1005 }
    if (opcode === opcodes.text) messages.push(payload.toString('utf8'))
    at = start + length
  }
  return { messages, code: undefined }
}

/** The kind of a message, for the tally. */
function kindOf(text: string): string {
  const type = /"type":"(\w+)"/.exec(text)?.[1] ?? 'other'
  if (type !== 'error') return `WebSocket message "${type}"`
  const kind = /"kind":\{"type":"(\w+)"/.exec(text)?.[1] ?? 'unknown'
  return `WebSocket error "${kind}"${/overloaded/i.test(text) ? ' (overloaded)' : ''}`
}
