import { formatStreamId, nodeIdOf } from '../identity/index.ts'
import type { EventLog } from '../store/index.ts'

/** Offsets by stream ID. */
export type OffsetMap = Readonly<Record<string, number>>

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
