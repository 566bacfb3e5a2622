import type { Labels } from '../../protocol/index.ts'

/**
 * Events of a stream that follow each other, in a form that is quick to read. Only what is asked for is made of
 * them.
 */
export interface EventBlock {
  /** Offset of the first event. */
  readonly first: number
  readonly count: number
  /** Bytes of memory that it takes up. */
  readonly heldBytes: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  labels(index: number): Labels
  /** The text of a payload. */
  payload(index: number): string
  /** Bytes of the lines of the events from one to before another; removed events have none. */
  lineBytes(from: number, to: number): number
  /** Copies these lines to a place that has room for them. */
  copyLines(from: number, to: number, target: Buffer, at: number): void
}
