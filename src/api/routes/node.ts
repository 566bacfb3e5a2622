import type { NodeId } from '../../identity/index.ts'
import { versionString } from '../../runtime/version.ts'
import { type Answer, jsonAnswer, textAnswer } from '../answer.ts'
import type { Route } from '../router.ts'

/** How well a node keeps up with the swarm. */
export type PeerStatus = 'LowLatency' | 'HighLatency' | 'PartiallyWorking' | 'NotWorking'

/** The state of the swarm. */
export interface SwarmInfo {
  readonly connectedNodes: number
  /** All known nodes, including this one. */
  readonly peersStatus: Readonly<Record<NodeId, PeerStatus>>
}

export interface NodeParts {
  readonly nodeId: NodeId
  readonly swarm: () => SwarmInfo
}

/** The ID of the node, and information about its state. */
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
