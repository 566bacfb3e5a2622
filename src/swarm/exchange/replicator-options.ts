import type { PublicKey } from '../../identity/index.ts'
import type { isReplicated } from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { CloseReason, Effect, Message, Sync } from '../../sync/index.ts'
import type { ProcessedChunk } from './processed-input.ts'
import type { ReplicatedLog } from './replicated-log.ts'
import type { ReplicationGate } from './replication-gate.ts'

/** What is known of a peer, and what waits because of it. */
export type PeerState = ReturnType<Sync['peers']>[number] & {
  /** Bytes of its messages that wait to be stored. */
  readonly inputBytes: number
  /** Whether it is not read because of them. */
  readonly isPaused: boolean
  /** Its requests that wait to be answered. */
  readonly waitingRequests: number
  /** Whether so much waits to be sent to it that new events are left out. */
  readonly isCongested: boolean
}

/** Sends messages to peers, which are named by their public keys as latin1. */
export interface Transport {
  /** Sends a message, or queues it. The session ends by itself when its queue is over the limit. */
  send(peer: string, message: Message): void
  close(peer: string, reason: CloseReason): void
  /** Stops reading from a peer while too much of its input waits to be stored, and goes on. */
  pause(peer: string, isPaused: boolean): void
}

export interface ReplicatorOptions {
  readonly topic: string
  /** The public key of this node. */
  readonly node: PublicKey
  readonly log: ReplicatedLog
  readonly transport: Transport
  readonly runtime: Runtime
  /** Milliseconds between two digests to a peer. */
  readonly gossipMs: number
  /** Milliseconds within which something has to be heard from a peer after a ping. */
  readonly pingTimeoutMs?: number
  /** The kind of the topic; an imported one is not replicated. */
  readonly kind?: Parameters<typeof isReplicated>[0]['kind']
  /** Whether this node only receives, see `setReadOnly`. */
  readonly isReadOnly?: boolean
  /** A random number from 0 to before 1. */
  readonly random: () => number
  /** Makes publishing wait after a doubtful start; without one the own streams are known to be complete. */
  readonly gate?: ReplicationGate | undefined
  /** Called for what the operator has to know. */
  readonly onReport?: (report: Extract<Effect, { do: 'report' }>) => void
  /** Called for addresses of nodes that a peer knows. */
  readonly onLearned?: (learned: Extract<Effect, { do: 'learned-addresses' }>) => void
  /** Called for each chunk of a peer that was verified, and stored if it is new. */
  readonly onChunk?: (peer: string, chunk: ProcessedChunk) => void
  /** Called for each message with records of a peer, with the verifications of it that were in vain. */
  readonly onRecords?: (peer: string, inVain: number) => void
  /** Called when reading or writing the log fails: the peer is asked again, or asks again. */
  readonly onFailure: (error: unknown) => void
  /** Called instead when peers cannot be told of a removal: it is tried again. */
  readonly onRemovalFailure?: (error: unknown) => void
}
