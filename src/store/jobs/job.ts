import type { Clock } from '../../runtime/clock.ts'
import type { EventReader } from '../port/index.ts'

/** A query or subscription that runs in slices. */
export interface Job {
  /** Whether it waits for new commits at the end of the log. */
  readonly isLive?: boolean
  /** The app whose events it waits for, if it is only one. */
  readonly appId?: string | undefined
  /** Begins a slice: drops the output of the last one. */
  begin(): void
  /**
   * Runs until the deadline or a full piece (`busy`), until it has caught up (`waiting`), or to its end (`done`). May be
   * called several times per slice, while the piece is not full.
   */
  run(deadline: number): 'busy' | 'waiting' | 'done'
  /** Whether the output has reached the size of a piece, so that the slice has to end. */
  readonly isFull: boolean
  /** The output of the slice: valid until the next one begins, and its memory may be transferred. */
  take(): Uint8Array<ArrayBuffer>
  /** Estimated bytes that it holds until the next run: charged to the account of client memory. */
  readonly heldBytes?: number
}

/** Makes a job in steps, and yields between them. An invalid request throws. */
export type Preparation = Generator<void, Job>

/** Makes a job, immediately if that is fast. Deadlines are times of the monotonic clock. */
export type JobMaker = (reader: EventReader, request: unknown, clock: Clock) => Job | Preparation

/** The jobs that a store runs, by name, and how to schedule and charge their requests. */
export interface JobSet {
  readonly makers: Readonly<Record<string, JobMaker>>
  /** The requesting app, for round robin. */
  appOf?(request: unknown): string
  /** Estimated memory of a request before its job reports `heldBytes`. */
  costOf?(request: unknown): number
}
