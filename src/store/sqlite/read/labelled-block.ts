import type { EventBlock } from '../../port/index.ts'
import type { LabelMatcher } from '../tag-index/label-matcher.ts'

/** A block with the labels that a cursor needs to find selected events. */
export interface LabelledBlock extends EventBlock {
  /** For each event the number of its labels within the block. */
  readonly labelOf: Uint16Array
  readonly labelCount: number
  /** Whether the payload of an event was redacted: then readers skip the event. */
  isRedacted(index: number): boolean
  matches(index: number, matcher: LabelMatcher): boolean
  /** Called by a reader that no longer uses the block: its memory is released unless it is cached or shared. */
  dispose?(): void
}
