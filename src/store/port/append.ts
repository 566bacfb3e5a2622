/**
 * Events to append to own streams: labels and payloads in one buffer, which goes from thread to thread without a
 * copy.
 */
export interface AppendRequest {
  readonly source: Buffer
  /** For each event where its labels start and end, and where its payload starts and ends. */
  readonly spans: Int32Array
  /** For each event the number of the own stream that it goes to. */
  readonly streams: Uint32Array
}

/** Events that follow each other in a stream. */
export interface Run {
  /** The number of the own stream. */
  readonly stream: number
  readonly offset: number
  count: number
}

/** What became of a request. Its events have consecutive lamport timestamps, in the order of the request. */
export interface Appended {
  readonly lamport: number
  readonly time: number
  readonly runs: readonly Run[]
}
