import type { Labels } from '../../protocol/index.ts'

/** Consecutive events of a stream, in a form that is fast to read. Fields are decoded lazily. */
export interface EventBlock {
  /** Offset of the first event. */
  readonly first: number
  readonly count: number
  /** Memory size. */
  readonly heldBytes: number
  readonly lamports: Float64Array
  readonly times: Float64Array
  labels(index: number): Labels
  payload(index: number): string
  /** Bytes of the NDJSON lines of events from `from` to before `to`; removed events have none. */
  lineBytes(from: number, to: number): number
  /** Copies these lines to `target`, which must have enough space. */
  copyLines(from: number, to: number, target: Buffer, at: number): void
  /** Bytes of the line of an event before its payload; the event was not removed. */
  lineStartBytes(index: number): number
  /** Copies that part of its line. */
  copyLineStart(index: number, target: Buffer, at: number): void
}
