import { formatStreamId, nodeIdOf } from '../../../identity/index.ts'
import type { StreamKey } from '../../../protocol/index.ts'

/** The stream ID that clients see. */
export function streamIdOf({ node, number }: StreamKey): string {
  return formatStreamId({ node: nodeIdOf(node), number: BigInt(number) })
}
