import type { Claim } from './claim.ts'
import { latin1Of } from './latin1.ts'

/** A connected peer. */
export class Peer {
  /** Its public key as latin1. */
  readonly name: string
  readonly key: Uint8Array
  /** The time until which its hello has to arrive. */
  helloBy: number
  /** Whether its hello has arrived. */
  isReady = false
  /** Whether it takes `bulk-push`. */
  takesBulk = false
  /** By name of an own stream: up to where it was sent events that continue what it has. */
  readonly sentUpTo = new Map<string, number>()
  /** Whether so much waits to be sent to it that new events are left out: a comparison follows. */
  isCongested = false
  /** Whether too many answers wait to be sent to it for a comparison. */
  isSyncCongested = false
  /** Whether something was not sent to it because it was congested: it is compared as soon as it is not. */
  hasMissed = false
  /** When something of it arrived last. */
  heardAt: number
  /** Pings since then, and when the last of them was sent. */
  unansweredPings = 0
  pingedAt = 0
  /** Whether something that it has sent waits to be stored. It may not be read meanwhile, so it counts as heard. */
  hasWaitingInput = false
  /** Microseconds by which its wall clock is ahead of the own one. */
  clockAhead = 0
  /** Whether its last digest was the own one. */
  hasSameHeads = false
  /** Its last digest. */
  digest: Uint8Array | undefined
  /** The duration of the last round trip, in milliseconds. */
  roundTripMs: number | undefined
  /** The ping by which the round trip is measured. */
  ping: { readonly id: number; readonly sentAt: number } | undefined
  readonly claims = new Map<string, Claim>()
  /** By name of a stream: pushes of its events that are being stored. Until then it is asked for nothing. */
  readonly pushes = new Map<string, number>()
  /** The nodes that it is connected to. */
  readonly neighbours = new Set<string>()
  /** Whether it has told them. */
  areNeighboursKnown = false
  /** The nodes that it was told this node is connected to. */
  readonly told = new Set<string>()
  /** By number: how many events of own streams it has stored. */
  readonly stored = new Map<number, number>()
  /** By number: how many events of its streams are stored here and were not reported to it yet. */
  readonly unreported = new Map<number, number>()
  /** Requests of the peer that are being answered. */
  serving = 0

  constructor(name: string, now: number, helloBy: number) {
    this.name = name
    this.key = keyOfNode(name)
    this.heardAt = now
    this.helloBy = helloBy
  }

  /** Whether messages that can be left out for now are sent to it on the sync channel. */
  get takesComparisons(): boolean {
    return !this.isCongested && !this.isSyncCongested
  }

  /** Whether a message is left out for now, of which a later comparison makes up. */
  leavesOut(isLeftOut: boolean): boolean {
    if (isLeftOut) this.hasMissed = true
    return isLeftOut
  }

  /** Something of it has arrived. */
  heard(now: number): void {
    this.heardAt = now
    this.unansweredPings = 0
  }
}

/** The name of a node: its public key as latin1. */
export function nameOfNode(key: Uint8Array): string {
  return latin1Of(key)
}

export function keyOfNode(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}
