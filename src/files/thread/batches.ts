import type { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../../base/errors.ts'
import { tuning } from '../../base/tuning.ts'
import { type CountFile, type Slots, storageError } from '../../store/index.ts'

/** Group commit: collects changes in one transaction until it is large enough. */
export class Batches {
  readonly #database: DatabaseSync
  readonly #slots: Slots
  readonly #countFile: CountFile
  #bytes = 0
  /** The number of rollbacks. Each may have lost blocks of uploads in progress. */
  rollbacks = 0

  /** Commits are counted in the database and in the count file. */
  constructor(database: DatabaseSync, slots: Slots, countFile: CountFile) {
    this.#database = database
    this.#slots = slots
    this.#countFile = countFile
  }

  /** Whether a commit is due. */
  get isFull(): boolean {
    return this.#bytes > tuning.blockCommitBytes
  }

  /** Applies a change in the open transaction. It is committed or rolled back together with all others in it. */
  change<T>(work: () => T): T {
    try {
      if (!this.#database.isTransaction) this.#database.exec('BEGIN IMMEDIATE')
      return work()
    } catch (error) {
      throw this.#rollback(error)
    }
  }

  /** Adds to the bytes that the open transaction has to write. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Commits all changes so far. There must be no change before the promise is settled. */
  async commit(): Promise<void> {
    this.#bytes = 0
    if (!this.#database.isTransaction) return
    try {
      const count = this.#database.prepare('UPDATE change SET count = count + 1 RETURNING count').get()?.['count']
      await this.#slots.sync()
      this.#database.exec('COMMIT')
      this.#slots.releaseFreed()
      if (typeof count === 'number') this.#countFile.record(count)
    } catch (error) {
      throw this.#rollback(error)
    }
  }

  /** Rolls back all changes since the last commit. Returns the error to throw. */
  #rollback(error: unknown): unknown {
    // Client errors are thrown before anything is changed, so there is nothing to roll back.
    if (error instanceof ShoalError) return error
    this.rollbacks++
    this.#bytes = 0
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    this.#slots.reload()
    return storageError(error, this.#database.location() ?? '')
  }
}
