import type { MemoryHolder } from '../../client-memory/account.ts'
import type { Selection } from './selection.ts'

/** A stream of NDJSON in pieces, which the consumer owns. It ends with the last line, or when it is cancelled. */
export interface Reading extends AsyncIterable<Buffer>, Partial<ReadingHints> {
  /** Resolves when it has started; rejects when the request is invalid. */
  readonly started: Promise<void>
  /** Resolves when it has ended, for any reason. */
  readonly ended: Promise<void>
  /** Charges queued pieces to a holder; at its limit the reading fails. Without a holder they are not charged. */
  chargeTo?(holder: MemoryHolder): void
  /** Ends it without an error. */
  cancel(): void
  /** Ends it with an error, which the consumer gets after the queued pieces. */
  fail(error: Error): void
}

/** Optional methods of a reading that save memory. */
export interface ReadingHints {
  /** Returns the memory of an unused piece for reuse. Other pieces are garbage collected. */
  recycle(piece: Uint8Array): void
}

/**
 * Asynchronous reading: queries and subscriptions are jobs that run in slices, with backpressure. The jobs are defined
 * above the store, which knows them by name.
 */
export interface Readings {
  /** Selected events, one line each. */
  read(selection: Selection): Reading
  /** Starts a job by its name in the job set. */
  start(job: string, request: unknown): Reading
}
