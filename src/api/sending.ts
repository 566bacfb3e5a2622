import type { ServerResponse } from 'node:http'
import { type Answer, errorAnswer, isStream, type Pieces } from './answer.ts'
import type { Call } from './call.ts'
import type { Connection } from './clients/index.ts'

type Headers = Answer['headers']

/**
 * Bytes of a piece, or of a whole body, that is small. It goes out together with the head where it can, and whoever has made it
 * is not told that it was sent: it is soon collected, and to be told of each takes longer.
 */
const smallBytes = 4096

/**
 * Sends an answer; answers with what was sent. What comes in pieces is sent as the client takes it, and ends when the client goes away.
 * What the client does not read is charged to its connection; where there is no room for it, another answer says so.
 */
export async function send(call: Call, given: Answer, more?: Readonly<Record<string, string>>): Promise<Answer> {
  const answer = admitted(given, call.client.connection)
  const { response } = call
  const { status, headers, body } = answer
  if (!isStream(body)) sendWhole(call, answer, body, more)
  else {
    response.writeHead(status, together(headers, more))
    if (call.request.method === 'HEAD') {
      body.cancel()
      response.end()
    } else await sendPieces(call, body)
  }
  return answer
}

/** The answer, or a refusal when the client's connection has no room for what it would hold. */
function admitted(answer: Answer, connection: Connection): Answer {
  const { body } = answer
  const held = isStream(body) ? (body.heldBytes ?? 0) : body.length
  if (held <= smallBytes || connection.hasRoom(held)) return answer
  if (isStream(body)) body.cancel()
  else answer.sent?.()
  return errorAnswer(connection.refusal)
}

function sendWhole(call: Call, { status, headers, sent }: Answer, body: string | Uint8Array, more?: Headers): void {
  const { request, response } = call
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const all: Record<string, string | number> = together(headers, more)
  // Without content there is no length to tell.
  if (status !== 204 && status !== 304) all['content-length'] = length
  response.writeHead(status, all)
  if (request.method === 'HEAD' || length === 0) response.end()
  // Plain ASCII is the same in both, and takes less time to be written in this one.
  else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
  else if (length < smallBytes)
    response.end(Buffer.from(body.buffer, body.byteOffset, length).toString('latin1'), 'latin1')
  else response.end(body, sent)
  call.client.connection.wrote()
}

/** The headers of an answer and those that every answer has; an answer may depend on more than they know. */
function together(headers: Headers, more: Headers | undefined): Record<string, string> {
  if (more === undefined) return { ...headers }
  const vary = [headers['vary'], more['vary']].filter((name) => name !== undefined).join(', ')
  return { ...headers, ...more, ...(vary !== '' && { vary }) }
}

async function sendPieces({ response, client: { connection } }: Call, pieces: Pieces): Promise<void> {
  const held = pieces.heldBytes ?? 0
  if (!connection.charge(held)) {
    // The client has gone meanwhile.
    pieces.cancel()
    response.destroy()
    return
  }
  const gone = (): void => pieces.cancel()
  response.once('close', gone)
  // Who has gone already does not go once more.
  if (response.destroyed) gone()
  try {
    // The client sees that it is heard, also when the first piece is long in coming.
    response.flushHeaders()
    for await (const piece of pieces) {
      const sent = piece.length < smallBytes ? undefined : (): void => pieces.sent?.(piece)
      const more = response.write(piece, sent)
      connection.wrote()
      if (!more && !(await drained(response))) return
    }
    response.end()
  } finally {
    connection.refund(held)
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
