import type { HeadPlace } from './chain-position.ts'

/** How a store was found when it was opened: what it remembers of its last use. */
export interface StartMarks {
  /** It was closed, and nothing of it is missing or damaged. */
  readonly isCleanStop: boolean
  /** It is the same file as when it was last written, by device and inode, and no copy of it. */
  readonly isSameFile: boolean
  /** Heads of own streams may have been sent to another node. */
  readonly isAnnounced: boolean
  /** It is a restored backup, and its own streams were not compared with those of another node since. */
  readonly isRestored: boolean
  /** The operator has accepted the restored backup: own streams continue from it, whatever other nodes have. */
  readonly isAccepted: boolean
}

/** The marks of a new store. */
export const newStoreMarks: StartMarks = {
  isCleanStop: true,
  isSameFile: true,
  isAnnounced: false,
  isRestored: false,
  isAccepted: false,
}

/** Why own streams may be shorter here than on another node: appending to them would fork them. */
export type Doubt = 'restored' | 'copied' | 'unclean'

/** The doubt about own streams after a start; undefined when they are known to be complete. */
export function doubtOf({
  isCleanStop,
  isSameFile,
  isAnnounced,
  isRestored,
  isAccepted,
}: StartMarks): Doubt | undefined {
  if (isAccepted) return undefined
  // Events may have been announced after the backup, so its other marks tell nothing.
  if (isRestored) return 'restored'
  // What no other node has seen cannot be forked.
  if (!isAnnounced) return undefined
  if (!isSameFile) return 'copied'
  return isCleanStop ? undefined : 'unclean'
}

/** An own stream on another node, compared with the stored one. */
export interface OwnComparison {
  /** The number of the own stream. */
  readonly stream: number
  /** The number of its events on the other node. */
  readonly count: number
  /** `longer` may still turn out to be a fork, once its events arrive. */
  readonly is: 'equal' | 'shorter' | 'longer' | 'forked'
}

/**
 * Compares an own stream with the head of it that another node has.
 * @param head the stream number and count of the head, whose signature was verified
 * @param place how the head relates to the stored chain
 * @param stored the number of stored events
 */
export function compareOwnStream(
  head: Pick<OwnComparison, 'stream' | 'count'>,
  place: HeadPlace,
  stored: number,
): OwnComparison {
  const { stream, count } = head
  if (place === 'contradicts') return { stream, count, is: 'forked' }
  if (place === 'ahead') return { stream, count, is: 'longer' }
  return { stream, count, is: count === stored ? 'equal' : 'shorter' }
}
