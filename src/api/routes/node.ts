import type { NodeId } from '../../identity/index.ts'
import { versionString } from '../../runtime/version.ts'
import { type Answer, jsonAnswer, textAnswer } from '../answer.ts'
import type { Route } from '../router.ts'

/** How well a node follows the swarm. */
export type PeerStatus = 'LowLatency' | 'HighLatency' | 'PartiallyWorking' | 'NotWorking'

/** What the swarm says of itself. */
export interface SwarmInfo {
  readonly connectedNodes: number
  /** All nodes that are known, this one too. */
  readonly peersStatus: Readonly<Record<NodeId, PeerStatus>>
}

export interface NodeParts {
  readonly nodeId: NodeId
  readonly swarm: () => SwarmInfo
}

/** What the node is, and how it is doing. */
export function nodeRoutes({ nodeId, swarm }: NodeParts): Route[] {
  const started = process.hrtime.bigint()
  const info = (): Answer => {
    const uptime = process.hrtime.bigint() - started
    const { connectedNodes, peersStatus } = swarm()
    return jsonAnswer(200, {
      connectedNodes,
      uptime: { secs: Number(uptime / second), nanos: Number(uptime % second) },
      version: versionString,
      swarmState: { peersStatus },
    })
  }
  const id = (): Answer => textAnswer(nodeId, 'no-cache')
  return [
    { path: '/api/v2/node/id', methods: { '*': { token: false, produces: 'text/plain', answer: id } } },
    { path: '/api/v2/node/info', methods: { GET: { token: true, answer: info } } },
  ]
}

const second = 1_000_000_000n
