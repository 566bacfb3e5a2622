import type { NodeId } from '../../identity/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import { uptimeFrom } from '../../runtime/uptime.ts'
import { versionString } from '../../runtime/version.ts'
import { type HttpResponse, jsonResponse, textResponse } from '../response.ts'
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
  readonly clock: Clock
}

/** The ID of the node, and information about its state. */
export function nodeRoutes({ nodeId, swarm, clock }: NodeParts): Route[] {
  const uptime = uptimeFrom(clock)
  const info = (): HttpResponse => {
    const { connectedNodes, peersStatus } = swarm()
    return jsonResponse(200, {
      connectedNodes,
      uptime: uptime(),
      version: versionString,
      swarmState: { peersStatus },
    })
  }
  const id = (): HttpResponse => textResponse(nodeId, 'no-cache')
  return [
    { path: '/api/v2/node/id', methods: { '*': { authenticated: false, produces: 'text/plain', handle: id } } },
    { path: '/api/v2/node/info', methods: { GET: { authenticated: true, handle: info } } },
  ]
}
