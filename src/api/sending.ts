import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, isStream, type Pieces } from './answer.ts'

/** Sends an answer. What comes in pieces is sent as the client takes it, and ends when the client goes away. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  more?: Readonly<Record<string, string>>,
): Promise<void> {
  if (isStream(body)) {
    response.writeHead(status, { ...headers, ...more })
    await sendPieces(response, body)
    return
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  // Without content there is no length to tell.
  const size = status === 204 ? undefined : { 'content-length': length }
  response.writeHead(status, { ...headers, ...size, ...more })
  if (request.method === 'HEAD' || length === 0) response.end()
  else response.end(body)
}

async function sendPieces(response: ServerResponse, pieces: Pieces): Promise<void> {
  const gone = (): void => pieces.cancel()
  response.once('close', gone)
  // Who has gone already does not go once more.
  if (response.destroyed) gone()
  try {
    // The client sees that it is heard, also when the first piece is long in coming.
    response.flushHeaders()
    for await (const piece of pieces) if (!response.write(piece) && !(await drained(response))) return
    response.end()
  } finally {
    response.off('close', gone)
    pieces.cancel()
  }
}

/** Whether there is somebody to go on for, when what was sent has been taken. */
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
