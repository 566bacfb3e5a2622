import { formatStreamId, nodeIdOf } from '../identity/index.ts'
import type { EventLog } from '../store/index.ts'

/** Offsets by stream ID. */
export type OffsetMap = Readonly<Record<string, number>>

/**
 * By stream: how many events other nodes have and this one lacks. Complete streams are left out.
 * @param peerOffsets by stream, the highest offset that a node of the swarm has, as far as this one knows
 */
export function toReplicate(present: OffsetMap, peerOffsets: OffsetMap): OffsetMap {
  const missing = Object.entries(peerOffsets).map(
    ([stream, offset]) => [stream, offset - (present[stream] ?? -1)] as const,
  )
  return Object.fromEntries(missing.filter(([, count]) => count > 0))
}

/** The last offset without a gap before it, for each stream of the store. */
export async function presentOffsets(store: EventLog): Promise<OffsetMap> {
  const streams = (await store.streams()).filter(({ count }) => count > 0)
  return Object.fromEntries(
    streams.map(({ key, count }) => [
      formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) }),
      count - 1,
    ]),
  )
}
