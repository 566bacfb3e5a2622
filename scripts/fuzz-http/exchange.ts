import { connect } from 'node:net'
import type { FuzzRequest } from './request.ts'

export interface Answer {
  readonly status: number
  readonly body: string
}

/** Response timeout in milliseconds. */
const patienceMs = 20_000

/**
 * Sends a request and waits for the response; undefined if the connection is closed without one. A response that is
 * sent before the body was read may be lost, because closing a socket with unread data resets the connection.
 */
export async function exchange(port: number, request: FuzzRequest): Promise<Answer | 'reset' | undefined> {
  const socket = connect(port, '127.0.0.1')
  const parts: Buffer[] = []
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), patienceMs)
  socket.on('data', (part) => {
    parts.push(part)
    // The start of a response that may never end.
    if (request.endless && Buffer.concat(parts).includes('\n', 400)) socket.destroy()
  })
  let isReset = false
  socket.on('error', (error) => {
    isReset = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
  })
  try {
    if (request.endless) setTimeout(() => socket.destroy(), 200).unref()
    await sent(socket, request)
    await closed
  } finally {
    clearTimeout(timer)
  }
  return answerOf(Buffer.concat(parts)) ?? (isReset ? 'reset' : undefined)
}

async function sent(socket: ReturnType<typeof connect>, { bytes, sending }: FuzzRequest): Promise<void> {
  if (sending === 'whole') {
    socket.write(bytes)
    return
  }
  const end = sending === 'half' ? bytes.length - 1 - Math.floor(bytes.length / 3) : bytes.length
  const step = Math.ceil(bytes.length / 7)
  for (let at = 0; at < end; at += step) {
    if (socket.destroyed) return
    socket.write(bytes.subarray(at, Math.min(end, at + step)))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  if (sending === 'half') socket.destroy()
}

/** The final response, after a possible 100 Continue. */
function answerOf(bytes: Buffer): Answer | undefined {
  const text = bytes.toString('utf8').replace(/^(HTTP\/1\.1 100 Continue\r\n\r\n)+/, '')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) return undefined
  const end = text.indexOf('\r\n\r\n')
  const body = text.slice(end + 4)
  const isChunked = /\r\ntransfer-encoding: chunked\r\n/i.test(text.slice(0, end + 2))
  return { status, body: isChunked ? body.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '').replace(/\r\n$/, '') : body }
}
