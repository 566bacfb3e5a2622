import type { MemoryHolder } from '../../client-memory/account.ts'
import type { Selection } from './selection.ts'

/**
 * A stream of NDJSON in pieces that the consumer owns and may release once it has sent them. It ends with the last line,
 * or when it is cancelled.
 */
export interface Reading extends AsyncIterable<Buffer> {
  /** Fulfilled once it has started; rejected when the request is invalid. */
  readonly started: Promise<void>
  /** Fulfilled when it has ended, for whatever reason. */
  readonly ended: Promise<void>
  /**
   * Charges what waits to be taken to a holder; when that has no room, the reading fails. Without one nobody is
   * charged.
   */
  chargeTo?(holder: MemoryHolder): void
  /** Ends it: nothing more is read for it. */
  cancel(): void
  /** Ends it, too; whoever takes from it gets what there is already, and then this error. */
  fail(error: Error): void
}

/**
 * Reading from the log in the background: queries and subscriptions are jobs that run in slices, each only as far
 * ahead of its consumer as backpressure allows. The jobs come from above the store, which knows them by name.
 */
export interface Readings {
  /** Selected events, one line each. */
  read(selection: Selection): Reading
  /** Starts a job that the store was given a maker for. */
  start(job: string, request: unknown): Reading
}
