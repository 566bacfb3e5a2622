import type { Hash, StreamKey } from '../protocol/index.ts'

/** The first message of both sides. Topic and node are those of the connection. */
export interface Hello {
  readonly is: 'hello'
  readonly version: number
  /** What this node can do beyond the version. */
  readonly features: readonly string[]
  /** What the other node has to be able to do: one that does not know a feature closes the session. */
  readonly required: readonly string[]
  /** The wall clock of the sender, in microseconds since the Unix epoch. */
  readonly time: number
}

/**
 * Changes of the nodes that the sender is connected to: events of a node, or events that it sends on, need not be
 * forwarded to those that are connected to it.
 */
export interface Neighbours {
  readonly is: 'neighbours'
  readonly added: readonly Uint8Array[]
  readonly removed: readonly Uint8Array[]
}

/** The digest of the head table, sent at intervals. One that differs is answered with `buckets`. */
export interface DigestMessage {
  readonly is: 'digest'
  readonly digest: Uint8Array
  /** The wall clock of the sender, in microseconds since the Unix epoch. */
  readonly time: number
}

/** The digests of all buckets of the head table, one after the other. Answered with the heads where they differ. */
export interface BucketsMessage {
  readonly is: 'buckets'
  readonly digests: Uint8Array
}

/** What a node has of a stream. */
export interface LiveEntry {
  readonly isFrozen: false
  /** Number of pruned events. */
  readonly pruned: number
  /** The first bytes of the hash of what its records have removed. */
  readonly records: Uint8Array
  /** The newest signed head, without domain word and topic: those are known from the session. */
  readonly head: Uint8Array
}

/** A stream whose node has forked it: only the evidence counts. */
export interface FrozenEntry {
  readonly isFrozen: true
  readonly stream: StreamKey
}

export type HeadEntry = LiveEntry | FrozenEntry

/** Heads of the sender. The other side answers with all of its own in the given buckets. */
export interface HeadsMessage {
  readonly is: 'heads'
  readonly entries: readonly HeadEntry[]
  readonly answer: readonly number[]
}

/**
 * Asks for the events of a stream from an offset on. Answered with the redaction records of these events and with chunks,
 * or with `nothing`.
 */
export interface Want {
  readonly is: 'want'
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
  /** Credit: the bytes of chunks that the answer may have. One chunk is sent even if it is larger. */
  readonly bytes: number
}

export interface ChunkMessage {
  readonly is: 'chunk'
  readonly id: number
  /** Whether the answer has more chunks. */
  readonly more: boolean
  readonly chunk: Uint8Array
}

/** Why a request gets no chunk. The codes are part of the protocol. */
export const nothingCodes = {
  /** The sender has no such events. */
  notHere: 0,
  /** No frame of the sender starts there: the chains differ. */
  notABorder: 1,
  /** These events are pruned: the prune record says where the stream starts. */
  pruned: 2,
} as const

export type NothingReason = keyof typeof nothingCodes

/** There is nothing to send for a request. */
export interface NothingMessage {
  readonly is: 'nothing'
  readonly id: number
  readonly reason: NothingReason
}

/** New events, sent without being asked for. */
export interface Push {
  readonly is: 'push'
  readonly chunk: Uint8Array
}

/** Many new events, sent without being asked for, to a node with the feature `bulk-push`. They are compressed. */
export interface BulkPush {
  readonly is: 'bulk-push'
  readonly chunk: Uint8Array
}

/** Asks for the records of a stream: the prune record, and the redaction records of a range of offsets. */
export interface WantRecords {
  readonly is: 'want-records'
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
  readonly to: number
}

/** Records of a stream, sent before the chunks that they concern. */
export interface RecordsMessage {
  readonly is: 'records'
  /** The request that it belongs to; 0 without one. */
  readonly id: number
  /** The stream of all of them. */
  readonly stream: StreamKey
  /** With the signed head of its checkpoint. */
  readonly prune: { readonly record: Uint8Array; readonly head: Uint8Array } | undefined
  readonly redactions: readonly Uint8Array[]
  /** The offset from which on there are more redaction records. */
  readonly next: number | undefined
}

/** Records of a stream, as the store gives them. */
export type Records = Omit<RecordsMessage, 'is' | 'id'>

/** Asks for the evidence that the node of a stream has forked it. */
export interface WantEvidence {
  readonly is: 'want-evidence'
  readonly id: number
  readonly stream: StreamKey
}

export interface EvidenceMessage {
  readonly is: 'evidence'
  /** The request that it answers. */
  readonly id: number
  readonly record: Uint8Array
}

/** A point of a hash chain. */
export interface ChainPoint {
  readonly count: number
  readonly hash: Hash
}

/** Asks which points of the sender's chain are on the chain of the receiver. */
export interface Locate {
  readonly is: 'locate'
  readonly id: number
  readonly stream: StreamKey
  /** Ascending. */
  readonly points: readonly ChainPoint[]
}

export interface Located {
  readonly is: 'located'
  readonly id: number
  /** The last common one of the points; 0 when there is none. */
  readonly count: number
}

/** What the sender has stored of streams of the receiver. */
export interface StoredMessage {
  readonly is: 'stored'
  readonly streams: readonly { readonly number: number; readonly count: number }[]
}

/** Answered with `pong`, to measure the round trip. */
export interface Ping {
  readonly is: 'ping' | 'pong'
  readonly id: number
}

/** Asks for the heads of the sender's own streams: after a doubtful start it does not know how long they are. */
export interface WantOwn {
  readonly is: 'want-own'
}

/** What the sender has of all streams of the receiver. */
export interface OwnHeads {
  readonly is: 'own-heads'
  readonly entries: readonly HeadEntry[]
}

/** The addresses at which nodes can be reached, as multiaddrs. */
export interface Addresses {
  readonly is: 'addresses'
  readonly nodes: readonly { readonly node: Uint8Array; readonly addresses: readonly string[] }[]
}

/** Why a session is closed. The codes are part of the protocol. */
export const closeCodes = {
  malformedMessage: 1,
  unknownRequiredFeature: 2,
  badHead: 3,
  badChunk: 4,
  tooManyRequests: 5,
  silent: 6,
  badRecord: 7,
  tooMuchInput: 8,
} as const

export type CloseReason = keyof typeof closeCodes

export type Message =
  | Hello
  | Neighbours
  | DigestMessage
  | BucketsMessage
  | HeadsMessage
  | Want
  | ChunkMessage
  | NothingMessage
  | Push
  | BulkPush
  | WantRecords
  | RecordsMessage
  | WantEvidence
  | EvidenceMessage
  | Locate
  | Located
  | StoredMessage
  | Ping
  | Addresses
  | WantOwn
  | OwnHeads
