import type { DatabaseSync } from 'node:sqlite'
import { failure, messageOf, ShoalError } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { Slots } from '../../store/index.ts'

/** Puts changes into transactions: many share one, until what the database has to write for them is enough. */
export class Batches {
  readonly #database: DatabaseSync
  readonly #slots: Slots
  #bytes = 0
  /** How often changes were lost that nobody had been told were stored. */
  losses = 0

  constructor(database: DatabaseSync, slots: Slots) {
    this.#database = database
    this.#slots = slots
  }

  /** Makes a change. It is stored for good with the next commit, or lost with everything else that waits for it. */
  change<T>(work: () => T): T {
    return this.#orLose(() => {
      if (!this.#database.isTransaction) this.#database.exec('BEGIN IMMEDIATE')
      const result = work()
      if (this.#bytes > limits.blockCommitBytes) this.#commit()
      return result
    })
  }

  /** Counts bytes that the database has to write for a change. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Stores everything so far for good. */
  commit(): void {
    this.#orLose(() => this.#commit())
  }

  #commit(): void {
    this.#bytes = 0
    if (!this.#database.isTransaction) return
    this.#slots.sync()
    this.#database.exec('COMMIT')
    this.#slots.settle()
  }

  #orLose<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      // What a client did wrong is found before anything is changed.
      if (error instanceof ShoalError) throw error
      this.losses++
      this.#bytes = 0
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#slots.forget()
      throw failure('ERR_STORAGE', { cause: messageOf(error) }, { cause: error })
    }
  }
}
