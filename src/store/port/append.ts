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

/**
 * Optional methods of a store that make appending faster. A caller uses them where they exist, and `append`
 * elsewhere.
 */
export interface AppendHints {
  /**
   * Announces a request of about so many bytes, so that the writer is awake when it comes. It may not come after
   * all.
   */
  expect(bytes: number): void
  /**
   * Appends a request part by part while the rest of it is still being made. The iterator makes the parts after the
   * first and returns the last. A part is good until the next one is asked for. When making one fails, nothing is
   * stored, and that is the failure.
   */
  appendParts(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): Promise<Appended>
}
