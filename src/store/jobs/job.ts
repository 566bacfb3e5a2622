import type { Clock } from '../../runtime/clock.ts'
import type { EventReader } from '../port/index.ts'

/** Something that is read for somebody, in slices: a query, or a subscription. */
export interface Job {
  /** Whether it waits for the next commit when it has read everything. */
  readonly isLive?: boolean
  /** The app whose events it waits for, where it waits for those of one app only. */
  readonly appId?: string | undefined
  /**
   * Works until the time is over, a piece is full, or there is nothing to do: for now, then it waits for the next
   * commit, or for good.
   */
  run(deadline: number): 'busy' | 'waiting' | 'done'
  /** What it has written since the last time: good until the job runs again, and its memory may be taken away. */
  take(): Uint8Array<ArrayBuffer>
  /** Bytes that it holds until it runs again, roughly: charged to the memory of clients. */
  readonly heldBytes?: number
}

/** Makes a job in steps: it gives way at every `yield`. What is wrong with the request is thrown. */
export type Preparation = Generator<void, Job>

/** Makes a job, at once where that takes little time. Deadlines are times of the steady clock. */
export type JobMaker = (reader: EventReader, request: unknown, clock: Clock) => Job | Preparation

/** The jobs that a store runs, by name, and what it has to know of a request before it makes a job of it. */
export interface JobSet {
  readonly makers: Readonly<Record<string, JobMaker>>
  /** The app that asks: apps take turns. */
  appOf?(request: unknown): string
  /** Bytes that a request takes up while it is open, whatever its job holds beside that. */
  costOf?(request: unknown): number
}
