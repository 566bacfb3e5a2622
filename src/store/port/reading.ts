import type { MemoryHolder } from '../../client-memory/account.ts'
import type { Selection } from './selection.ts'

/**
 * A stream of NDJSON in pieces, which the consumer owns and may release once it has sent them. It ends with the last line,
 * or when it is cancelled.
 */
export interface Reading extends AsyncIterable<Buffer> {
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
