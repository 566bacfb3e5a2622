import type { ServerResponse } from 'node:http'
import type { Call } from './call.ts'
import type { Connection } from './clients/index.ts'
import { errorResponse, type HttpResponse, isStream, type StreamedBody } from './response.ts'

type Headers = HttpResponse['headers']

/**
 * Bodies and chunks below this size are small. A small body is sent in one write with the head. Small buffers get no
 * `sent` callback: one callback each would cost more than their garbage collection.
 */
const smallBytes = 4096

/**
 * Sends a response, and returns the one that was sent. A streamed body is sent with backpressure and cancelled when the
 * client disconnects. Output that the client does not read is charged to its connection. A response that exceeds the
 * memory limit is replaced with an error.
 */
export async function send(call: Call, response: HttpResponse, more?: Headers): Promise<HttpResponse> {
  const sent = withinMemoryLimit(response, call.client.connection)
  const { status, headers, body } = sent
  if (!isStream(body)) sendWhole(call, sent, body, more)
  else {
    call.response.writeHead(status, mergeHeaders(headers, more))
    if (call.request.method === 'HEAD') {
      body.cancel()
      call.response.end()
    } else await sendStream(call, body)
  }
  return sent
}

/** The response, or an error when its memory exceeds the limit of the connection. */
function withinMemoryLimit(response: HttpResponse, connection: Connection): HttpResponse {
  const { body } = response
  const held = isStream(body) ? (body.heldBytes ?? 0) : body.length
  if (held <= smallBytes || connection.hasRoom(held)) return response
  if (isStream(body)) body.cancel()
  else response.sent?.()
  return errorResponse(connection.refusal)
}

function sendWhole(
  call: Call,
  { status, headers, sent }: HttpResponse,
  body: string | Uint8Array,
  more?: Headers,
): void {
  const { request, response } = call
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const all: Record<string, string | number> = mergeHeaders(headers, more)
  // These statuses have no body, so no Content-Length.
  if (status !== 204 && status !== 304) all['content-length'] = length
  response.writeHead(status, all)
  if (request.method === 'HEAD' || length === 0) response.end()
  // ASCII is the same in latin1 and UTF-8, and Node writes latin1 faster.
  else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
  else if (length < smallBytes)
    response.end(Buffer.from(body.buffer, body.byteOffset, length).toString('latin1'), 'latin1')
  else response.end(body, sent)
  call.client.connection.afterWrite()
}

/** Merges the headers of a response with those of every response; `Vary` gets the values of both. */
function mergeHeaders(headers: Headers, more: Headers | undefined): Record<string, string> {
  if (more === undefined) return { ...headers }
  const vary = [headers['vary'], more['vary']].filter((name) => name !== undefined).join(', ')
  return { ...headers, ...more, ...(vary !== '' && { vary }) }
}

async function sendStream({ response, client: { connection } }: Call, body: StreamedBody): Promise<void> {
  const held = body.heldBytes ?? 0
  if (!connection.charge(held)) {
    // No memory left since the check in withinMemoryLimit, or the connection is closed.
    body.cancel()
    response.destroy()
    return
  }
  const onClose = (): void => body.cancel()
  response.once('close', onClose)
  // There is no second 'close' event for a response that is already destroyed.
  if (response.destroyed) onClose()
  try {
    // The client gets the head at once, also when the first chunk takes long.
    response.flushHeaders()
    for await (const chunk of body) {
      const sent = chunk.length < smallBytes ? undefined : (): void => body.sent?.(chunk)
      const more = response.write(chunk, sent)
      connection.afterWrite()
      if (!more && !(await drained(response))) return
    }
    response.end()
  } finally {
    connection.refund(held)
    response.off('close', onClose)
    body.cancel()
  }
}

/** Waits for 'drain'; false when the connection was closed instead. */
function drained(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (open: boolean) => (): void => {
      response.off('drain', onDrain).off('close', onClose)
      resolve(open)
    }
    const onDrain = end(true)
    const onClose = end(false)
    if (response.destroyed) resolve(false)
    else response.on('drain', onDrain).on('close', onClose)
  })
}
