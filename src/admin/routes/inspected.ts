import type { NodeId } from '../../identity/index.ts'
import type { versionParts } from '../../runtime/version.ts'

/** The answer to `GET /node/inspect`. Addresses are multiaddrs without peer ID, times are RFC 3339. */
export interface Inspected {
  readonly nodeId: NodeId
  readonly nodeVersion: typeof versionParts
  readonly peerId: string
  readonly swarmAddrs: readonly string[]
  readonly announceAddrs: readonly string[]
  readonly adminAddrs: readonly string[]
  readonly apiAddrs: readonly string[]
  readonly connections: readonly InspectedConnection[]
  readonly knownPeers: readonly InspectedPeer[]
}

export interface InspectedConnection {
  readonly peerId: string
  readonly addr: string
  readonly since: string
  readonly outbound: boolean
}

export interface InspectedPeer {
  readonly peerId: string
  readonly info: {
    readonly protocolVersion: string
    /** The display name of the node. */
    readonly agentVersion: string
    readonly protocols: readonly string[]
    readonly listeners: readonly string[]
  }
  readonly addrs: readonly string[]
  readonly addrSource: readonly string[]
  readonly addrSince: readonly string[]
  /** The newest first. */
  readonly failures: readonly InspectedFailure[]
  /** Round trips in microseconds, and the rate of failures in millionths. */
  readonly pingStats: {
    readonly current: number
    readonly decay3: number
    readonly decay10: number
    readonly failures: number
    readonly failureRate: number
  } | null
}

export interface InspectedFailure {
  readonly addr: string
  readonly time: string
  readonly display: string
  readonly details: string
}
