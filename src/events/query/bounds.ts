import { formatStreamId, nodeIdOf } from '../../identity/index.ts'
import type { EventReader, ReadStream, Snapshot, StreamNumber } from '../../store/reading/index.ts'
import type { OffsetMap } from '../offsets.ts'

/** From where to where a request reads, by the numbers of streams in the store. */
export interface Bounds {
  readonly lower: ReadonlyMap<StreamNumber, number>
  readonly upper?: ReadonlyMap<StreamNumber, number>
}

/** Which offsets are here after one commit, under the names of the streams. */
export function presentOf(reader: EventReader, snapshot: Snapshot = reader.snapshot()): OffsetMap {
  const present: Record<string, number> = {}
  for (const stream of reader.streams()) {
    const count = snapshot.count(stream.number)
    if (count > 0) present[nameOf(stream)] = count - 1
  }
  return present
}

/** The offsets of streams that are known here. */
export function byNumber(reader: EventReader, offsets: OffsetMap): Map<StreamNumber, number> {
  const found = new Map<StreamNumber, number>()
  for (const stream of reader.streams()) {
    const offset = offsetOf(reader, offsets, stream.number)
    if (offset !== undefined) found.set(stream.number, offset)
  }
  return found
}

/** The offset of one stream of the store. */
export function offsetOf(reader: EventReader, offsets: OffsetMap, number: StreamNumber): number | undefined {
  return offsets[nameOf(reader.streams()[number] as ReadStream)]
}

/** Whether everything up to these offsets is here. */
export function isWithin(offsets: OffsetMap, present: OffsetMap): boolean {
  return Object.entries(offsets).every(([stream, offset]) => offset <= (present[stream] ?? -1))
}

export const outOfRange = 'Query bounds out of range: upper bound must be within the known present.'

export function offsetsLine(offsets: OffsetMap): string {
  return JSON.stringify({ type: 'offsets', offsets })
}

const names = new WeakMap<ReadStream, string>()

export function nameOf(stream: ReadStream): string {
  const known = names.get(stream)
  if (known !== undefined) return known
  const name = formatStreamId({ node: nodeIdOf(stream.key.node), number: BigInt(stream.key.number) })
  names.set(stream, name)
  return name
}
