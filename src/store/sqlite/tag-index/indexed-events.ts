import type { TimeRange } from '../../port/index.ts'
import type { TimeGroups } from '../time-index/time-groups.ts'

/** The index of consecutive events of a stream. Positions count from the first of them. */
export interface IndexedEvents {
  readonly first: number
  readonly count: number
  /**
   * The positions of events whose labels may have this hash; `most` where a scan is faster, undefined when the index is
   * damaged.
   */
  positions(hash: number): number[] | 'most' | undefined
  /** The same for any of several hashes, in order. */
  positionsOfAny(hashes: ReadonlySet<number>): number[] | undefined
  /** Whether there may be events within a range of times. */
  overlaps(range: TimeRange): boolean
  /** Undefined when they are unknown. */
  readonly times: TimeGroups | undefined
}
