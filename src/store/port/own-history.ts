import type { StartMarks } from '../../replication/index.ts'

/** What a store remembers about its own streams, so that a node notices when events of its own may be missing. */
export interface OwnHistory {
  /** How the store was found when it was opened, and whether the operator has accepted it since. */
  startMarks(): Promise<StartMarks>
  /** Remembers that heads of own streams leave this node. Resolves before the first one may be sent. */
  markAnnounced(): Promise<void>
  /**
   * The own streams are complete, or were given up. Until then, after a doubtful start, redactions of own events that are
   * not here are kept; from now on they have no effect.
   */
  settleOwnStreams(): Promise<void>
}
