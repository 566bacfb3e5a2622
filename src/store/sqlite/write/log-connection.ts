import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../base/assert.ts'
import { failure } from '../../../base/errors.ts'
import { sqliteCode, sqliteCodes } from '../../../base/sqlite-codes.ts'
import type { TopicKind } from '../../../protocol/index.ts'
import { storageError } from '../../disk/disk-io-error.ts'
import type { DiskSync } from '../../disk/sync.ts'
import { removeDamagedCopy } from '../../disk/wal-check.ts'
import { openForWriting, rewriteVersion, upgrade } from '../log-database.ts'
import { prepareStatements, type Statements } from '../statements.ts'
import type { StartMarkRows } from './start-marks.ts'

export interface ConnectionOptions {
  readonly file: string
  readonly topic: string
  readonly kind: TopicKind
  /** The implementation of fsync; replaced in tests. */
  readonly sync?: DiskSync
}

/** What is derived from the database in memory. */
export interface Derived {
  /** Derives it again: a transaction was rolled back, or the connection was reopened. */
  reload(): void
  /** Discards what was not committed, before `reload`, which may fail. */
  discard(): void
}

/** The only writing connection of a log: its transactions, and its recovery after a failure. */
export class LogConnection {
  readonly #options: ConnectionOptions
  readonly #derived: Derived
  #database: DatabaseSync
  #statements: Statements
  /** The connection failed and has to be reopened. */
  #isBroken = false
  /** BEGIN is deferred until the first write. */
  #isBeginPending = false
  /** Whether removed data may still be in the files, because a scrub failed. */
  #isScrubPending = false
  /** Whether the format version was raised: a log that is only read keeps its version. */
  #isUpgraded = false
  #marks: StartMarkRows | undefined

  constructor(options: ConnectionOptions, derived: Derived) {
    const { file, topic, kind, sync } = options
    this.#options = options
    this.#derived = derived
    this.#database = openForWriting(file, topic, kind, sync)
    try {
      this.#statements = prepareStatements(this.#database)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  get database(): DatabaseSync {
    return this.#database
  }

  get statements(): Statements {
    return this.#statements
  }

  /** What the log remembers of its last use. */
  get marks(): StartMarkRows {
    assert(this.#marks !== undefined, 'the marks are read while the log is opened')
    return this.#marks
  }

  set marks(marks: StartMarkRows) {
    this.#marks = marks
  }

  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Reopens the connection after a failure, so that decisions before a transaction are based on what is on disk. */
  reopenIfBroken(): void {
    if (this.#isBroken) this.#reopen()
  }

  /**
   * Runs work in one transaction. Once it returns, all of it is on disk. When it throws, nothing is, except after an I/O
   * error during the commit, when all of it may be.
   */
  transaction<T>(work: () => T): T {
    return this.#withRecovery(() => {
      this.#statements.begin.run()
      const removesMark = this.#removeStopMark()
      const result = work()
      this.#statements.commit.run()
      if (removesMark) this.marks.removed()
      return result
    })
  }

  /** Like `transaction`, but with a deferred BEGIN: a commit of a single tail row uses autocommit. See `begin`. */
  lazyTransaction<T>(work: () => T): T {
    return this.#withRecovery(() => {
      this.#isBeginPending = true
      const removesMark = this.#removeStopMark()
      const result = work()
      if (this.#database.isTransaction) this.#statements.commit.run()
      if (removesMark) this.marks.removed()
      return result
    })
  }

  /** The first commit removes the mark of a clean stop. Returns whether this is the first one. */
  #removeStopMark(): boolean {
    if (!this.marks.isRemovalPending) return false
    this.begin()
    this.marks.remove(this.#database)
    return true
  }

  /** Called before every write of a lazy transaction but a single one. */
  begin(): void {
    if (this.#isBeginPending) this.#statements.begin.run()
    this.#isBeginPending = false
  }

  /**
   * A transaction that overwrites freed pages. `FAST` is not enough: a page that is freed and reused in one transaction
   * keeps the old bytes that the new content does not cover.
   */
  erasingTransaction<T>(work: () => T): T {
    this.reopenIfBroken()
    this.#database.exec('PRAGMA secure_delete = ON')
    try {
      return this.transaction(work)
    } finally {
      if (this.#database.isOpen) this.#database.exec('PRAGMA secure_delete = FAST')
    }
  }

  /** A write without effect, to find out whether the disk works. */
  probe(): void {
    this.transaction(() => rewriteVersion(this.#database))
  }

  /** Runs a checkpoint of the write-ahead log. */
  checkpointWal(mode: 'PASSIVE' | 'TRUNCATE'): void {
    try {
      this.#database.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch (error) {
      throw asStorageError(error, this.#options.file)
    }
  }

  get isScrubPending(): boolean {
    return this.#isScrubPending
  }

  /** Removes deleted data from the files: truncates free pages and the write-ahead log. */
  scrub(): void {
    this.#isScrubPending = true
    try {
      removeDamagedCopy(this.#options.file)
      this.#database.exec('PRAGMA incremental_vacuum')
      // A reader that has pinned an older snapshot blocks this.
      const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
      if (busy !== 0)
        throw failure('ERR_STORAGE', { cause: 'what was removed is still being read, and not yet scrubbed' })
      this.#isScrubPending = false
    } catch (error) {
      throw asStorageError(error, this.#options.file)
    }
  }

  close(): void {
    this.#markStop()
    // It is closed already after a failure that could not be recovered from.
    if (this.#database.isOpen) this.#database.close()
  }

  #markStop(): void {
    if (this.#isBroken || !this.#database.isOpen) return
    try {
      this.#marks?.stop(this.#database)
    } catch (error) {
      // Without it the next start is one after a crash, which is safe.
      if (sqliteCode(error) === undefined) throw error
    }
  }

  #withRecovery<T>(work: () => T): T {
    this.reopenIfBroken()
    try {
      if (!this.#isUpgraded) upgrade(this.#database)
      this.#isUpgraded = true
      return work()
    } catch (error) {
      this.#recover(error)
      throw asStorageError(error, this.#options.file)
    } finally {
      this.#isBeginPending = false
    }
  }

  /** After a failure the memory may be ahead of the disk, so the state is reloaded from there. */
  #recover(error: unknown): void {
    this.#derived.discard()
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      // After an invalid request or on a full disk the connection is still usable; after other errors it may not be.
      if (sqliteCode(error) === undefined || sqliteCode(error) === sqliteCodes.full) {
        this.#derived.reload()
        return
      }
    } catch {
      // The connection is unusable and is reopened below. The caller gets the original error.
    }
    this.#isBroken = true
    try {
      this.#reopen()
    } catch {
      // The caller gets the original error. The next transaction retries, and throws this one if it persists.
    }
  }

  #reopen(): void {
    const { file, topic, kind } = this.#options
    try {
      if (this.#database.isOpen) this.#database.close()
      this.#database = openForWriting(file, topic, kind)
      this.#statements = prepareStatements(this.#database)
      this.#derived.reload()
      this.#isBroken = false
    } catch (error) {
      throw storageError(error, file)
    }
  }
}

/** Translates errors of SQLite; others stay as they are. */
function asStorageError(error: unknown, file: string): unknown {
  return sqliteCode(error) === undefined ? error : storageError(error, file)
}
