import type { SettingsDocument } from '../../settings/index.ts'
import type { LockState } from '../../store/index.ts'
import type { Target } from './target.ts'

/** The gathered state of a node: the input of all checks. */
export interface Facts {
  readonly target: Target
  readonly reach: Reach
  /** The data folder, if it is on this machine. */
  readonly folder?: FolderFacts | undefined
  /** The addresses at which a stopped node would listen. */
  readonly ports?: readonly PortFacts[]
  readonly settings?: SettingsDocument | undefined
  /** Of a running node. */
  readonly running?: RunningFacts
  readonly peers?: readonly PeerFacts[]
}

/** Whether the node answers. */
export type Reach =
  | { readonly is: 'running' }
  | { readonly is: 'stopped' }
  /** The error of the request. */
  | { readonly is: 'failed'; readonly code: string; readonly message: string }

export interface FolderFacts {
  readonly path: string
  readonly lock: LockState
  /** `denied` is a folder of another user. */
  readonly access: 'writable' | 'read-only' | 'denied'
  readonly disk: { readonly free: number; readonly total: number }
  /** Whether the identity of the node is there; a fresh folder has neither identity nor events. */
  readonly hasIdentity: boolean
  readonly hasEvents: boolean
  /** Why the settings cannot be read. */
  readonly settingsError?: string | undefined
}

export interface PortFacts {
  readonly component: string
  readonly option: string
  readonly port: number
  /** Why the node cannot listen there. */
  readonly error?: { readonly code: string; readonly message: string } | undefined
  /** The node that answers at a port in use. */
  readonly node?: string | undefined
}

export interface RunningFacts {
  readonly phase: string
  /** Why it is not ready. */
  readonly problems: readonly { readonly component: string; readonly detail?: string | undefined }[]
  /** Free and total bytes of the disk of its data folder. */
  readonly disk?: { readonly free: number; readonly total: number } | undefined
  /** Multiaddrs. */
  readonly apiAddresses: readonly string[]
  readonly adminAddresses: readonly string[]
  readonly swarmAddresses: readonly string[]
  /** Whether it listens for other nodes and dials them. */
  readonly hasSwarm: boolean
  /** By node ID of a connected peer: the seconds by which its clock is ahead. */
  readonly clockAhead: Readonly<Record<string, number>>
  /** Number of known events that are missing here, in two samples `afterMs` apart. */
  readonly toReplicate: { readonly first: number; readonly later: number; readonly afterMs: number }
  /** By reason: connections of other nodes that failed since the start. */
  readonly inboundFailures: Readonly<Record<string, number>>
  readonly refusedApps: readonly { readonly appId: string; readonly reason: string }[]
}

/** A node that this one wants to connect to. */
export interface PeerFacts {
  readonly peerId: string
  readonly name: string
  /** Whether the settings name it as an initial peer. */
  readonly isInitial: boolean
  readonly isConnected: boolean
  /** The newest failed dial. */
  readonly failure?: { readonly address: string; readonly reason: string } | undefined
}
