import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../base/errors.ts'

/**
 * Sends the body of a request, and resolves to the response. One before the end of the body is an error that says why
 * the body is rejected. A stream that cannot be read fails with a `ShoalError`.
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
    // The rest of a rejected body is not sent.
    response.once('close', () => body.destroy())
    return response
  } catch (error) {
    // The request was aborted because of it.
    throw body.errored instanceof ShoalError ? body.errored : error
  }
}

async function piped(body: Readable, outgoing: ClientRequest): Promise<undefined> {
  try {
    await pipeline(body, outgoing)
  } catch {
    if (body.errored instanceof ShoalError) throw body.errored
    // An error of the connection: the promise of the response rejects with it.
  }
  return undefined
}
