/** What a peer says that it has of a stream. */
export interface Claim {
  readonly count: number
  readonly pruned: number
  /** Its signed head, verified before events are asked for. */
  readonly signed: Uint8Array
  isVerified: boolean
  /** The time before which it is not asked again: it had nothing to send. */
  askFrom: number
}

/** A request to a peer for events of a stream. */
export interface OpenWant {
  readonly id: number
  readonly name: string
  readonly deadline: number
}

/** A connected peer. */
export class Peer {
  /** Its public key as latin1. */
  readonly name: string
  /** The time until which its hello has to arrive. */
  readonly helloBy: number
  /** Whether its hello has arrived. */
  isReady = false
  readonly claims = new Map<string, Claim>()
  readonly wants = new Map<number, OpenWant>()
  /** The nodes that it is connected to. */
  readonly neighbours = new Set<string>()
  /** The nodes that it was told this node is connected to. */
  readonly told = new Set<string>()
  /** Requests of the peer that are being answered. */
  serving = 0

  constructor(name: string, helloBy: number) {
    this.name = name
    this.helloBy = helloBy
  }
}
