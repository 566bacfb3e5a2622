import type { KeyPair } from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { ListenEndpoint } from './addresses.ts'
import type { Session } from './session.ts'

export interface HostOptions {
  /** The key of the node is that of the peer. */
  readonly key: KeyPair
  /** Base64 of 32 bytes. */
  readonly swarmKey: string
  readonly topic: string
  /** IPv4 and IPv6 literals; port 0 takes a free one. An optional address may be unavailable. */
  readonly listen: readonly ListenEndpoint[]
  /** Addresses to tell other nodes, besides those that it listens on. */
  readonly announce: readonly string[]
  /** The display name, which identify tells other nodes. */
  readonly agent: string
  readonly mdns: boolean
  readonly runtime: Runtime
  readonly log: Logger
  /** Addresses of a peer. Called again and again for the same ones. */
  readonly onFound: (peer: string, addresses: readonly string[], source: 'mdns') => void
  /** The address at which a peer has connected to this node, as the peer knows it. */
  readonly onObserved?: (peer: string, address: string) => void
  /** A connection of either side is ready. The callbacks of the session are set here: messages arrive afterwards. */
  readonly onSession: (session: Session) => void
  /** An inbound connection that failed, with its address, in words. */
  readonly onInboundFailure: (address: string, reason: string) => void
  /** A peer has sent what no honest node sends, before its session was ready: it should be kept out. */
  readonly onMisbehaviour?: (peer: string) => void
  /** Whether to accept connections of a peer; all by default. */
  readonly accepts?: (peer: string) => boolean
}
