import type { StreamKey } from '../protocol/index.ts'
import type { Addresses, ChainPoint, CloseReason, Message, NothingReason, Records, RecordsMessage } from './messages.ts'

/** What the host has to do. Peers are named by their public keys, as latin1. */
export type Effect =
  | { readonly do: 'send'; readonly to: string; readonly message: Message }
  | { readonly do: 'close'; readonly peer: string; readonly reason: CloseReason }
  | ReadEffect
  | ReadRecordsEffect
  | ReadEvidenceEffect
  | FindCommonEffect
  | ListPointsEffect
  | StoreEffect
  | ApplyRecordsEffect
  | ApplyEvidenceEffect
  /** Compares signed heads of own streams, which a peer has, with the stored ones. */
  | {
      readonly do: 'compare-own'
      readonly from: string
      readonly heads: readonly Uint8Array[]
      /** Whether they are all that the peer has: after a doubtful start. */
      readonly areAll: boolean
    }
  /** Addresses of nodes, which the one that dials may try. */
  | { readonly do: 'learned-addresses'; readonly peer: string; readonly nodes: Addresses['nodes'] }
  | ReportEffect

/** Something that the operator has to know. */
export type ReportEffect =
  | {
      readonly do: 'report'
      readonly is: 'fork' | 'own-stream-ahead' | 'too-far-ahead'
      readonly stream: StreamKey
      readonly peer: string
    }
  /** A peer requires features that this node does not have. */
  | {
      readonly do: 'report'
      readonly is: 'unknown-features'
      readonly features: readonly string[]
      readonly peer: string
    }

/** Reads chunks that continue a stream for a peer; `read` takes the result. */
export interface ReadEffect {
  readonly do: 'read'
  readonly peer: string
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
  readonly bytes: number
}

/** The events for a peer: chunks, each with the redaction records that concern it and come before it. */
export type ReadResult =
  | { readonly chunks: readonly { readonly records: readonly Records[]; readonly chunk: Uint8Array }[] }
  | { readonly nothing: NothingReason }

/** Reads records for a peer; `readRecords` takes the result. */
export interface ReadRecordsEffect {
  readonly do: 'read-records'
  readonly peer: string
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
  readonly to: number
}

/** Reads the evidence of a fork for a peer; `readEvidence` takes the result. */
export interface ReadEvidenceEffect {
  readonly do: 'read-evidence'
  readonly peer: string
  readonly id: number
  readonly stream: StreamKey
}

/** Finds the last of the points of a peer that is on the stored chain; `foundCommon` takes its count. */
export interface FindCommonEffect {
  readonly do: 'find-common'
  readonly peer: string
  readonly id: number
  readonly stream: StreamKey
  readonly points: readonly ChainPoint[]
}

/** Lists checkpoints after `from` and up to `to`, evenly spread and including the last; `listedPoints` takes them. */
export interface ListPointsEffect {
  readonly do: 'list-points'
  readonly peer: string
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
  readonly to: number
}

/** Gives a chunk to the store; `stored` takes the result. */
export interface StoreEffect {
  readonly do: 'store'
  readonly from: string
  /** The request that it answers; undefined for a push. */
  readonly want: number | undefined
  /** Whether the answer has more chunks. */
  readonly more: boolean
  readonly chunk: Uint8Array
}

/** Gives records to the store; `appliedRecords` takes the result. What is stored next from this peer comes after it. */
export interface ApplyRecordsEffect {
  readonly do: 'apply-records'
  readonly from: string
  readonly records: RecordsMessage
}

/** Gives the evidence of a fork to the store; `appliedEvidence` takes the result. */
export interface ApplyEvidenceEffect {
  readonly do: 'apply-evidence'
  readonly from: string
  readonly want: number
  readonly stream: StreamKey
  readonly record: Uint8Array
}
