import { limits } from '../../base/limits.ts'
import { MemoryAccount } from '../../client-memory/account.ts'
import type { EventReader, Reading } from '../port/index.ts'
import type { JobSet } from './job.ts'
import type { Piece } from './job-output.ts'
import { JobRunner, type JobRuntime } from './job-runner.ts'
import { PieceQueue } from './piece-queue.ts'

export interface LocalJobsOptions {
  readonly jobs: JobSet
  readonly runtime: JobRuntime
}

/** Runs jobs in the thread of their consumer, with the same runner as a reader thread. */
export class LocalJobs {
  readonly #runner: JobRunner
  readonly #readings = new Map<number, PieceQueue>()
  #lastId = 0
  /** Set when it is closed. */
  #ended: Error | undefined

  constructor(reader: EventReader, { jobs, runtime }: LocalJobsOptions) {
    this.#runner = new JobRunner({
      reader,
      jobs,
      account: MemoryAccount.create(limits.maxClientMemory),
      output: {
        started: (id) => this.#readings.get(id)?.start(),
        written: (pieces) => {
          for (const piece of pieces) this.#deliver(piece)
        },
        ended: (id, outcome) => this.#end(id, 'error' in outcome ? asError(outcome.error) : undefined),
      },
      runtime,
    })
  }

  start(job: string, request: unknown): Reading {
    const id = ++this.#lastId
    const queue = new PieceQueue(
      (bytes) => this.#runner.credit(id, bytes),
      () => {
        this.#readings.delete(id)
        this.#runner.cancel(id)
      },
    )
    if (this.#ended !== undefined) {
      queue.end(this.#ended)
      return queue
    }
    this.#readings.set(id, queue)
    this.#runner.start(id, job, request)
    return queue
  }

  /** Wakes subscriptions after a commit. */
  wake(): void {
    this.#runner.wake()
  }

  /** Fails all jobs, and those that are started later, with an error. */
  close(error: Error): void {
    this.#ended = error
    for (const id of [...this.#readings.keys()]) {
      this.#runner.cancel(id)
      this.#end(id, error)
    }
  }

  /** Copies the piece, because the job reuses its memory. */
  #deliver({ id, bytes }: Piece): void {
    const piece = Buffer.allocUnsafeSlow(bytes.length)
    piece.set(bytes)
    this.#readings.get(id)?.push(piece)
  }

  #end(id: number, error: Error | undefined): void {
    const queue = this.#readings.get(id)
    this.#readings.delete(id)
    queue?.end(error)
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
