import type { Assault } from './attack.ts'
import { RawSocket } from './raw-socket.ts'
import type { Victim } from './victim.ts'

export interface RequestHead {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string | number>>
  readonly hasToken?: boolean
}

/** Formats a request head. */
export function headOf(victim: Victim, { method, path, host, headers = {}, hasToken = true }: RequestHead): string {
  const all: Record<string, string | number> = {
    host: host ?? `127.0.0.1:${victim.port}`,
    ...(hasToken && { authorization: `Bearer ${victim.token}` }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Formats a request with a JSON body. */
export function jsonRequest(victim: Victim, path: string, body: unknown, more: RequestHead['headers'] = {}): string {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...more }
  return `${headOf(victim, { method: 'POST', path, headers })}${text}`
}

/** Sends a request, reads the start of the response and leaves the rest unread until the end of the attack. */
export async function leaveUnread(assault: Assault, request: string | Buffer): Promise<void> {
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  if (await raw.send(request, assault.signal)) {
    await raw.answered(assault.signal)
    raw.socket.pause()
  }
  const statuses = statusesIn(raw.received.toString('latin1'))
  for (const status of statuses) assault.tally.count(status)
  if (statuses.length > 0) await raw.hold(assault.signal)
  else if (!assault.signal.aborted) assault.tally.count(`no answer (${raw.error ?? 'end'})`)
  const { isClosed } = await raw.look()
  if (isClosed) assault.tally.count('closed by the node')
}

/** Reads the start of the responses on a connection, closes it and counts their statuses. */
export async function countHttp(raw: RawSocket, { tally }: Assault): Promise<void> {
  const { bytes, isClosed } = await raw.look()
  const statuses = statusesIn(bytes.toString('latin1'))
  for (const status of statuses) tally.count(status)
  if (statuses.length === 0)
    tally.count(isClosed ? `closed without an answer (${raw.error ?? 'end'})` : 'no answer yet')
  else if (isClosed) tally.count('answered, then closed')
}

export function statusesIn(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status)
}
