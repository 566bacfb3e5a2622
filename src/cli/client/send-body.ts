import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../base/errors.ts'

/**
 * Sends the body of a request, and resolves to the response. A response before the end of the body is an error that
 * says why the body is rejected: the rest is not sent. A body that cannot be read fails with its `ShoalError`.
 */
export async function sendBody(
  outgoing: ClientRequest,
  body: string | Readable,
  responded: Promise<IncomingMessage>,
): Promise<IncomingMessage> {
  if (typeof body === 'string') {
    outgoing.end(body)
    return await responded
  }
  try {
    const response = (await Promise.race([responded, piped(body, outgoing)])) ?? (await responded)
    response.once('close', () => body.destroy())
    return response
  } catch (error) {
    // The failure of the body has aborted the request.
    throw body.errored instanceof ShoalError ? body.errored : error
  }
}

async function piped(body: Readable, outgoing: ClientRequest): Promise<undefined> {
  try {
    await pipeline(body, outgoing)
  } catch {
    if (body.errored instanceof ShoalError) throw body.errored
    // An error of the connection, with which `responded` rejects.
  }
  return undefined
}
