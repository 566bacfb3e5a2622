import { format } from '../../../base/format.ts'
import type { StreamNumber } from '../../port/index.ts'

const perStream = format.eventsPerStream + 1

/** The key (stream, offset) as one number below 2^53: the rows of a stream are contiguous and ordered by offset. */
export function rowKey(stream: StreamNumber, offset: number): number {
  return stream * perStream + offset
}

export function streamOf(key: number): StreamNumber {
  return Math.floor(key / perStream)
}

export function offsetOf(key: number): number {
  return key % perStream
}
