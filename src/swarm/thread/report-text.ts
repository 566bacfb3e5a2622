import { formatStreamId, nodeIdOf, type PublicKey } from '../../identity/index.ts'
import type { StreamKey } from '../../protocol/index.ts'
import type { Effect } from '../../sync/index.ts'
import { nodeIdOfPeer } from '../peers/index.ts'

/** Of more features only the number is logged. */
const namedFeatures = 4

/** What the operator reads in the log. Names that a peer has chosen are quoted and escaped. */
export function reportText(report: Extract<Effect, { do: 'report' }>): string {
  const peer = nodeIdOfPeer(report.peer)
  switch (report.is) {
    case 'fork':
      return `${peer} has evidence that the stream ${nameOf(report.stream)} was forked: it is frozen`
    case 'own-stream-ahead':
      return `${peer} has more events of the own stream ${nameOf(report.stream)} than this node`
    case 'too-far-ahead':
      return `${peer} has events of ${nameOf(report.stream)} from the future: they wait until the clock has reached them`
    case 'unknown-features':
      return `${peer} requires what this version cannot do: ${listOf(report.features)}; update this node`
  }
}

function listOf(features: readonly string[]): string {
  const named = features.slice(0, namedFeatures).map((feature) => JSON.stringify(feature))
  const rest = features.length - named.length
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ')
}

function nameOf({ node, number }: StreamKey): string {
  return formatStreamId({ node: nodeIdOf(node as PublicKey), number: BigInt(number) })
}
