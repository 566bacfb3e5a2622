import { format } from '../../../base/format.ts'
import type { StreamNumber } from '../../port/index.ts'

const perStream = format.eventsPerStream + 1

/** Rows of a stream stand side by side, in the order of their offsets: (stream, offset) as one number below 2^53. */
export function rowKey(stream: StreamNumber, offset: number): number {
  return stream * perStream + offset
}

export function streamOf(key: number): StreamNumber {
  return Math.floor(key / perStream)
}

export function offsetOf(key: number): number {
  return key % perStream
}
