import { blockCloseCodes, closeCodes } from '../../sync/index.ts'

/** Why the host itself ends a session, besides the reasons of the messages. The codes are part of the protocol. */
export const hostCloseCodes = {
  /** The other connection of two between the same nodes is kept. */
  double: 64,
  stopping: 65,
  /** More waits to be sent than the limit allows: the receiver is too slow. */
  tooSlow: 67,
  /** A message was begun and not completed in time. */
  stalled: 68,
  /** The largest incomplete message, when those of all peers take too much memory. */
  tooMuchUnread: 69,
  /** Too much of what the peer has sent was verified and has changed nothing. */
  tooManyVerifications: 70,
  /** The peer has sent more new streams in an hour than a topic can have. */
  tooManyStreams: 71,
} as const

export const sessionCloseCodes = { ...closeCodes, ...blockCloseCodes, ...hostCloseCodes } as const

export type SessionCloseReason = keyof typeof sessionCloseCodes

const words: Readonly<Record<SessionCloseReason, string>> = {
  malformedMessage: 'malformed message',
  unknownRequiredFeature: 'a required feature is not known',
  badHead: 'bad head',
  badChunk: 'bad chunk',
  tooManyRequests: 'too many requests',
  silent: 'nothing was heard for too long',
  badRecord: 'bad record',
  tooMuchInput: 'too much input',
  badBlock: 'bad block',
  tooManyBlockRequests: 'too many requests for blocks',
  unaskedBlocks: 'blocks that were not asked for',
  double: 'another connection to this node is kept',
  stopping: 'the node stops',
  tooSlow: 'the receiver is too slow: too many bytes wait to be sent',
  stalled: 'a message was begun and not completed in time',
  tooMuchUnread: 'incomplete messages take too much memory, and this one is the largest',
  tooManyVerifications: 'too many verifications of what changes nothing',
  tooManyStreams: 'too many new streams within an hour',
}

/** The reason of a code that a peer has sent; undefined for one of a later version. */
export function closeReasonOf(code: number): SessionCloseReason | undefined {
  const found = Object.entries(sessionCloseCodes).find(([, known]) => known === code)
  return found?.[0] as SessionCloseReason | undefined
}

export function wordsOf(reason: SessionCloseReason): string {
  return words[reason]
}
