import { failure, ShoalError } from '../../base/errors.ts'
import type { AdminAddress } from './node-address.ts'
import type { NodeRequest } from './node-client.ts'
import { addressText, reasonOf } from './node-connection.ts'
import { ResponseRejected } from './response-body.ts'

/** The connection was closed before the response was complete. */
export class ConnectionLost extends ShoalError {
  constructor(cause: string) {
    super('ERR_NODE_UNREACHABLE', failure('ERR_NODE_UNREACHABLE', { cause }).message)
  }
}

/**
 * The error for a request to an admin port without a complete response. A change may have been made: the error names
 * the command that shows it.
 */
export function lostResponse(error: unknown, address: AdminAddress, { method, path, check }: NodeRequest): Error {
  if (error instanceof ShoalError) return error
  const isChange = method !== 'GET' && !path.startsWith('/session')
  const doubt = isChange ? '. It is not known whether it has done this.' : ''
  const hint = isChange && check !== undefined ? ` \`${check}\` shows it.` : ''
  const cause = `${addressText(address)}: ${reasonOf(error)}${doubt}${hint}`
  return error instanceof ResponseRejected ? failure('ERR_NODE_UNREACHABLE', { cause }) : new ConnectionLost(cause)
}

export function notANode(address: AdminAddress): ShoalError {
  return failure('ERR_NODE_UNREACHABLE', { cause: `${addressText(address)} does not answer as a node does` })
}
