/**
 * How an address became known: from the settings, by mDNS, from a discovery event, from a peer that knows the node, from
 * the node itself after a connection was made, as the remote address of an inbound connection (which is not dialled), or
 * because a dial has worked.
 */
export type AddressSource = 'initial' | 'mdns' | 'event' | 'introduced' | 'identify' | 'dialled'

/** What is known of a peer, for the operator. Plain data; times are milliseconds of a monotonic clock. */
export interface KnownPeer {
  /** Its public key as latin1. */
  readonly peer: string
  /** `waiting` is one that is dialled later; `idle` is one without an address that could be dialled. */
  readonly state: 'connected' | 'dialling' | 'waiting' | 'kept out' | 'idle'
  /** Whether the settings name it as an initial peer. */
  readonly isInitial: boolean
  readonly addresses: readonly KnownAddress[]
  /** The newest first. */
  readonly failures: readonly DialFailed[]
  /** More than one only until a double is closed. */
  readonly sessions: readonly KnownSession[]
  readonly keptOutUntil: number | undefined
}

export interface KnownAddress {
  /** A multiaddr without peer ID. */
  readonly address: string
  readonly sources: readonly AddressSource[]
  readonly since: number
  /** Failed dials since the last that worked. */
  readonly failures: number
  readonly connectedAt: number | undefined
  /** When it may be dialled again. */
  readonly notBefore: number
}

/** A dial that failed. */
export interface DialFailed {
  readonly address: string
  readonly at: number
  /** In words, for the operator. */
  readonly reason: string
}

export interface KnownSession {
  readonly id: number
  readonly direction: 'inbound' | 'outbound'
  readonly address: string
  readonly since: number
}
