import { formatStreamId, nodeIdOf } from '../../identity/index.ts'
import type { EventReader, ReadStream, Snapshot, StreamNumber } from '../../store/reading/index.ts'
import type { OffsetMap } from '../offsets.ts'

/** The bounds of a request, by stream number. */
export interface Bounds {
  readonly lower: ReadonlyMap<StreamNumber, number>
  readonly upper?: ReadonlyMap<StreamNumber, number>
}

/** The last offset of each stream in a snapshot, by stream ID. */
export function presentOf(reader: EventReader, snapshot: Snapshot = reader.snapshot()): OffsetMap {
  const present: Record<string, number> = {}
  for (const stream of reader.streams()) {
    const count = snapshot.count(stream.number)
    if (count > 0 && stream.isVacant !== true) present[nameOf(stream)] = count - 1
  }
  return present
}

/** Maps offsets by stream ID to stream numbers; unknown streams are left out. */
export function byNumber(reader: EventReader, offsets: OffsetMap): Map<StreamNumber, number> {
  const found = new Map<StreamNumber, number>()
  for (const stream of reader.streams()) {
    if (stream.isVacant === true) continue
    const offset = offsetOf(reader, offsets, stream.number)
    if (offset !== undefined) found.set(stream.number, offset)
  }
  return found
}

export function offsetOf(reader: EventReader, offsets: OffsetMap, number: StreamNumber): number | undefined {
  return offsets[nameOf(reader.streams()[number] as ReadStream)]
}

/** Whether all events up to these offsets are present. */
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
