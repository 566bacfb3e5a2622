import { formatStreamId, nodeIdOf } from '../identity/index.ts'
import type { EventLog } from '../store/index.ts'

/** Stream IDs with offsets. */
export type OffsetMap = Readonly<Record<string, number>>

/** Which events are here: for each stream the last offset up to which there is no gap. */
export async function presentOffsets(store: EventLog): Promise<OffsetMap> {
  const streams = (await store.streams()).filter(({ count }) => count > 0)
  return Object.fromEntries(
    streams.map(({ key, count }) => [
      formatStreamId({ node: nodeIdOf(key.node), number: BigInt(key.number) }),
      count - 1,
    ]),
  )
}
