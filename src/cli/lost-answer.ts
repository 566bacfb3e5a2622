import { failure, ShoalError } from '../base/errors.ts'
import { AnswerRefused } from './answers.ts'
import type { PortAddress } from './node-address.ts'
import type { NodeRequest } from './node-client.ts'
import { addressText, reasonOf } from './node-connection.ts'

/** A connection that ended before the answer. */
export class ConnectionLost extends ShoalError {
  constructor(cause: string) {
    super('ERR_NODE_UNREACHABLE', failure('ERR_NODE_UNREACHABLE', { cause }).message)
  }
}

/** The error for an answer of an admin port that did not come. A change may have been made: it names a command that shows it. */
export function lostAnswer(error: unknown, address: PortAddress, { method, path, check }: NodeRequest): Error {
  if (error instanceof ShoalError) return error
  const isChange = method !== 'GET' && !path.startsWith('/session')
  const doubt = isChange ? '. It is not known whether it has done this.' : ''
  const hint = isChange && check !== undefined ? ` \`${check}\` shows it.` : ''
  const cause = `${addressText(address)}: ${reasonOf(error)}${doubt}${hint}`
  return error instanceof AnswerRefused ? failure('ERR_NODE_UNREACHABLE', { cause }) : new ConnectionLost(cause)
}

export function notANode(address: PortAddress): ShoalError {
  return failure('ERR_NODE_UNREACHABLE', { cause: `${addressText(address)} does not answer as a node does` })
}
