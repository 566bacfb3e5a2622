import type { MessagePort } from 'node:worker_threads'
import type { LogRecord } from '../../logging/index.ts'
import type { StreamKey } from '../../protocol/index.ts'
import type { OwnComparison } from '../../replication/index.ts'
import type { LogLink, ThreadName } from '../../store/index.ts'
import type { Discovery } from '../peers/index.ts'
import type { SwarmSnapshot } from '../snapshot.ts'

/** The settings of the swarm that apply while it runs. */
export interface SwarmSettings {
  readonly displayName: string
  /** Multiaddrs that end in a peer ID. */
  readonly initialPeers: readonly string[]
  readonly announceAddresses: readonly string[]
  readonly mdns: boolean
  readonly pingTimeoutMs: number
  readonly gossipMs: number
  readonly lowLatencyMs: number
  readonly highLatencyMs: number
  /** Whether this node tells nothing of its own events. */
  readonly isReadOnly: boolean
  /** After how long without an answer another peer is asked for a block of a file. */
  readonly blockTimeoutMs: number
  /** The log filter. */
  readonly logFilter: string
}

export interface SwarmStart {
  readonly link: LogLink
  readonly topic: string
  readonly swarmKey: string
  readonly privateKey: string
  readonly listen: readonly { readonly host: string; readonly port: number }[]
  readonly settings: SwarmSettings
  /** Whether the own streams are known to be complete, see `ReplicationGate`. */
  readonly isGateOpen: boolean
}

/** A message to the swarm thread. */
export type ToSwarm =
  | { readonly do: 'start'; readonly start: SwarmStart }
  | { readonly do: 'apply'; readonly settings: SwarmSettings }
  | { readonly do: 'open-gate' }
  /** This node has pruned an own stream, or has redacted events of it with this record. */
  | { readonly do: 'removed'; readonly stream: StreamKey; readonly redaction: Uint8Array | undefined }
  | { readonly do: 'discovered'; readonly discovery: Discovery }
  /** A port to the files thread, which was asked for; undefined when it could not be made. */
  | { readonly do: 'link-blocks'; readonly port: MessagePort | undefined }
  | { readonly do: 'stop' }

/** What the replication in the swarm thread tells the gate in the main thread. */
export type GateNotice =
  | { readonly is: 'connected' | 'disconnected'; readonly peer: string }
  | { readonly is: 'compared'; readonly peer: string; readonly streams: readonly OwnComparison[] }
  | { readonly is: 'behind'; readonly peer: string; readonly stream: number; readonly count: number }
  | { readonly is: 'adopted'; readonly stream: number; readonly count: number }
  | { readonly is: 'froze'; readonly stream: number }

/** What became of a thread that the swarm thread has started. */
export interface ThreadNotice {
  readonly thread: ThreadName
  readonly is: 'started' | 'ended' | 'startFailed'
  readonly reason: string
}

/** A message of the swarm thread. */
export type FromSwarm =
  /** Its modules are loaded. */
  | { readonly is: 'loaded' }
  /** It listens, and exchanges events from now on. */
  | { readonly is: 'started' }
  | { readonly is: 'start-failed'; readonly reason: string }
  /** It needs a port to the files thread. */
  | { readonly is: 'wants-blocks' }
  | { readonly is: 'snapshot'; readonly snapshot: SwarmSnapshot }
  | { readonly is: 'gate'; readonly notice: GateNotice }
  | { readonly is: 'thread'; readonly notice: ThreadNotice }
  /** A log line that its filter has let through. */
  | { readonly is: 'log'; readonly record: LogRecord }
  | { readonly is: 'stopped' }
