import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { type ByteReader, type ByteWriter, MalformedBytes } from './bytes.ts'

/** A run of consecutive offsets of a stream. */
export interface OffsetRange {
  readonly first: number
  readonly count: number
}

/** The ranges of a set of offsets: ascending, with gaps between them. */
export function rangesOf(offsets: Iterable<number>): OffsetRange[] {
  const ranges: { first: number; count: number }[] = []
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last.first + last.count === offset) last.count++
    else ranges.push({ first: offset, count: 1 })
  }
  return ranges
}

/** Writes ranges as pairs of the gap since the end of the previous range and the length. */
export function writeRanges(writer: ByteWriter, ranges: readonly OffsetRange[]): void {
  assert(ranges.length > 0 && ranges.length <= format.rangesPerRedaction, 'the number of ranges is within its limits')
  writer.uvarint(ranges.length)
  let end = 0
  for (const [i, { first, count }] of ranges.entries()) {
    assert(count > 0 && first >= end + (i === 0 ? 0 : 1), 'ranges ascend, with gaps between them')
    writer.uvarint(first - end).uvarint(count)
    end = first + count
  }
}

/** Reads ranges. There is one encoding of a set of offsets, and its size is bounded. */
export function readRanges(reader: ByteReader): OffsetRange[] {
  const length = reader.uvarint()
  if (length === 0 || length > format.rangesPerRedaction) throw new MalformedBytes('a wrong number of ranges')
  const ranges: OffsetRange[] = []
  let end = 0
  let offsets = 0
  for (let i = 0; i < length; i++) {
    const gap = reader.uvarint()
    const count = reader.uvarint()
    if (count === 0 || (gap === 0 && i > 0)) throw new MalformedBytes('an empty range, or one that continues another')
    ranges.push({ first: end + gap, count })
    end += gap + count
    offsets += count
    if (end > format.eventsPerStream || offsets > format.offsetsPerRedaction)
      throw new MalformedBytes('ranges with too many or too large offsets')
  }
  return ranges
}
