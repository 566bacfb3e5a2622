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

/** Optional methods of a store that make appending faster. Callers fall back to `append`. */
export interface AppendHints {
  /** Announces a request of about this size, to wake the writer in advance. The request may fail to follow. */
  expect(bytes: number): void
  /**
   * Appends a request part by part while the rest is still being produced. The iterator yields the parts after the
   * first and returns the last. A part is valid until the next one is requested. If the iterator throws, nothing is
   * stored, and the promise rejects with that error.
   */
  appendParts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Promise<Appended>
}
