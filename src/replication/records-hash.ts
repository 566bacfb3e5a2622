import { ByteWriter, type Hash, type OffsetRange, sha256, writeStream } from '../protocol/index.ts'
import type { StreamPosition } from './stream-position.ts'

/**
 * A hash over what the records of a stream have removed from the events that a node has, for digests. It does not cover
 * the bytes of the records: nodes that got them in another order may have kept other ones with the same effect. Records
 * of events that were not received yet do not count.
 * @param redacted the ranges of all redaction records, in any order; they may overlap
 */
export function recordsHash(
  topic: string,
  { key, pruned, count }: Pick<StreamPosition, 'key' | 'pruned' | 'count'>,
  redacted: Iterable<OffsetRange>,
): Hash {
  const ranges = joined(redacted, pruned, count)
  const writer = new ByteWriter().latin1('shoal/records/1\0').text(topic)
  writeStream(writer, key)
  writer.uvarint(pruned).uvarint(ranges.length)
  let last = 0
  for (const { first, end } of ranges) {
    writer.uvarint(first - last).uvarint(end - first)
    last = end
  }
  return sha256(writer.written)
}

/** Joins ranges that overlap or touch, within bounds. */
function joined(ranges: Iterable<OffsetRange>, from: number, to: number): { first: number; end: number }[] {
  const result: { first: number; end: number }[] = []
  for (const { first, count } of [...ranges].sort((a, b) => a.first - b.first)) {
    const range = { first: Math.max(first, from), end: Math.min(first + count, to) }
    if (range.first >= range.end) continue
    const last = result.at(-1)
    if (last !== undefined && range.first <= last.end) last.end = Math.max(last.end, range.end)
    else result.push(range)
  }
  return result
}
