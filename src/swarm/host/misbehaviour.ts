import { HandshakeFailure } from './dial-failure.ts'

/** What no honest node sends: the peer is kept out for it. */
export class Misbehaviour extends HandshakeFailure {}

/** Errors by which yamux ends a connection because of what the peer has sent. */
const yamuxErrors: ReadonlySet<string> = new Set([
  'InvalidFrameError',
  'InvalidParametersError',
  'NotMatchingPingError',
  'ReceiveWindowExceededError',
  'UnRequestedPingError',
])

/** What a peer has done wrong, if that is why its connection or stream was lost. */
export function misbehaviourOf(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined
  return error instanceof Misbehaviour || yamuxErrors.has(error.name) ? error.message : undefined
}
