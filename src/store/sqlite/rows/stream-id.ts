import { formatStreamId, nodeIdOf } from '../../../identity/index.ts'
import type { StreamKey } from '../../../protocol/index.ts'

/** The name of a stream, as clients know it. */
export function streamIdOf({ node, number }: StreamKey): string {
  return formatStreamId({ node: nodeIdOf(node), number: BigInt(number) })
}
