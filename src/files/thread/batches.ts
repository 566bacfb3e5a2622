import type { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../../base/errors.ts'
import { tuning } from '../../base/tuning.ts'
import { type NotedCount, type Slots, storageError } from '../../store/index.ts'

/** Puts changes into transactions: many share one, until what the database has to write for them is enough. */
export class Batches {
  readonly #database: DatabaseSync
  readonly #slots: Slots
  readonly #noted: NotedCount
  #bytes = 0
  /** How often changes were lost that nobody had been told were stored. */
  losses = 0

  /** Commits are counted in the database, and noted beside it. */
  constructor(database: DatabaseSync, slots: Slots, noted: NotedCount) {
    this.#database = database
    this.#slots = slots
    this.#noted = noted
  }

  /** Whether enough was changed for a commit. */
  get isFull(): boolean {
    return this.#bytes > tuning.blockCommitBytes
  }

  /** Makes a change. It is stored for good with the next commit, or lost with everything else that waits for it. */
  change<T>(work: () => T): T {
    try {
      if (!this.#database.isTransaction) this.#database.exec('BEGIN IMMEDIATE')
      return work()
    } catch (error) {
      throw this.#lost(error)
    }
  }

  /** Counts bytes that the database has to write for a change. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Stores everything so far for good. Nothing may be changed before this is settled. */
  async commit(): Promise<void> {
    this.#bytes = 0
    if (!this.#database.isTransaction) return
    try {
      const count = this.#database.prepare('UPDATE change SET count = count + 1 RETURNING count').get()?.['count']
      await this.#slots.sync()
      this.#database.exec('COMMIT')
      this.#slots.settle()
      if (typeof count === 'number') this.#noted.note(count)
    } catch (error) {
      throw this.#lost(error)
    }
  }

  /** Rolls back what was changed since the last commit; answers with the error to throw. */
  #lost(error: unknown): unknown {
    // What a client did wrong is found before anything is changed.
    if (error instanceof ShoalError) return error
    this.losses++
    this.#bytes = 0
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    this.#slots.forget()
    return storageError(error, this.#database.location() ?? '')
  }
}
