import type { Labels } from '../../../protocol/index.ts'
import type { LabelMatcher } from '../index/label-matcher.ts'

/** Events of a stream that follow each other, in a form that is quick to read. Only what is asked for is made of them. */
export interface Block {
  /** Offset of the first event. */
  readonly first: number
  readonly count: number
  /** Bytes of memory that it takes up. */
  readonly heldBytes: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  /** For each event, which of the labels of the block it has. */
  readonly labelOf: Uint16Array
  readonly labelCount: number
  /** Whether the payload of an event was removed: then it is not there for anybody. */
  isRemoved(index: number): boolean
  labels(index: number): Labels
  matches(index: number, matcher: LabelMatcher): boolean
  /** The text of a payload. */
  payload(index: number): string
  /** Bytes of the lines of the events from one to before another. */
  lineBytes(from: number, to: number): number
  /** Copies these lines to a place that has room for them. */
  copyLines(from: number, to: number, target: Buffer, at: number): void
  /** Told by whoever asked for it and has let go of all of it: nobody looks at it any more, unless it is kept for others. */
  leave?(): void
}
