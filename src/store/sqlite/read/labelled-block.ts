import type { EventBlock } from '../../port/index.ts'
import type { LabelMatcher } from '../index/label-matcher.ts'

/** A block of the log with what a cursor needs to find selected events in it. */
export interface LabelledBlock extends EventBlock {
  /** For each event, which of the labels of the block it has. */
  readonly labelOf: Uint16Array
  readonly labelCount: number
  /** Whether the payload of an event was removed: then it is not there for anybody. */
  isRemoved(index: number): boolean
  matches(index: number, matcher: LabelMatcher): boolean
  /** Told by whoever asked for it and has let go of all of it: nobody looks at it any more, unless it is kept for others. */
  leave?(): void
}
