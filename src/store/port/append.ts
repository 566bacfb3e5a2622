/** Events to append to own streams: labels and payloads in one buffer, which threads pass on without a copy. */
export interface AppendRequest {
  readonly source: Buffer
  /** For each event: start and end of its labels, start and end of its payload. */
  readonly spans: Int32Array
  /** For each event: the number of its own stream. */
  readonly streams: Uint32Array
}

/** Consecutive events of a stream. */
export interface Run {
  /** The number of the own stream. */
  readonly stream: number
  readonly offset: number
  count: number
}

/** The result of a request. Its events have consecutive lamport timestamps, in the order of the request. */
export interface Appended {
  readonly lamport: number
  readonly time: number
  readonly runs: readonly Run[]
}
