import { existsSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { doubtOf, type StartMarks } from '../../../replication/index.ts'
import { createFile, type DiskSync } from '../../disk/sync.ts'
import { openForReading } from '../log-database.ts'

/** Rows of the table `meta`: closed cleanly, device and inode, announced, a backup, and what the clock has shown. */
type MarkName = 'stopped' | 'file' | 'announced' | 'backup' | 'clock'

/**
 * The marks by which the next start of a node notices that own events may be missing. The mark of a clean stop is removed
 * with the first commit after the log was opened, and written again by `stop`.
 */
export class StartMarkRows {
  readonly #file: string
  /** As they were found. */
  readonly #found: StartMarks
  readonly #identity: string
  #isDoubtful: boolean
  #isAnnounced: boolean
  /** Whether the mark of a clean stop was removed by a commit. */
  #isRemoved = false

  /** @param isDamaged whether damage was found while the log was opened */
  constructor(database: DatabaseSync, file: string, isDamaged: boolean) {
    this.#file = file
    this.#identity = identityOf(file)
    const remembered = markOf(database, 'file')
    this.#found = {
      isCleanStop: markOf(database, 'stopped') !== undefined && !isDamaged,
      isSameFile: remembered === undefined || remembered === this.#identity,
      isAnnounced: markOf(database, 'announced') !== undefined,
      isRestored: markOf(database, 'backup') !== undefined,
      isAccepted: isAccepted(file),
    }
    this.#isDoubtful = doubtOf(this.#found) !== undefined
    this.#isAnnounced = this.#found.isAnnounced
  }

  /** How the log was found; the operator may have accepted it since. */
  get marks(): StartMarks {
    return { ...this.#found, isAccepted: this.#found.isAccepted || isAccepted(this.#file) }
  }

  /** Whether other nodes may have more of the own streams. */
  get isDoubtful(): boolean {
    return this.#isDoubtful
  }

  /** Whether the mark of a clean stop has to be removed by the next commit. */
  get isRemovalPending(): boolean {
    return !this.#isRemoved
  }

  /** Removes the mark of a clean stop, within the current transaction. */
  remove(database: DatabaseSync): void {
    deleteMark(database, 'stopped')
    // A doubt lasts until it is settled, also over several starts.
    if (!this.#isDoubtful) this.settle(database)
  }

  /** The transaction of `remove` was committed. */
  removed(): void {
    this.#isRemoved = true
    if (this.#found.isAccepted && !this.#isDoubtful) this.settled()
  }

  get isAnnounced(): boolean {
    return this.#isAnnounced
  }

  /** Within the current transaction. */
  announce(database: DatabaseSync): void {
    putMark(database, 'announced', 1)
  }

  /** The transaction of `announce` was committed. */
  announced(): void {
    this.#isAnnounced = true
  }

  /** The own streams are complete, or were given up: forgets the backup and the copy, within the current transaction. */
  settle(database: DatabaseSync): void {
    deleteMark(database, 'backup')
    putMark(database, 'file', this.#identity)
  }

  /** The transaction of `settle` was committed. */
  settled(): void {
    this.#isDoubtful = false
    rmSync(acceptedFile(this.#file), { force: true })
  }

  /** Writes the mark of a clean stop, unless nothing was written or the doubt was not settled. */
  stop(database: DatabaseSync): void {
    if (this.#isRemoved && !this.#isDoubtful) putMark(database, 'stopped', 1)
  }
}

export function clockRecordOf(database: DatabaseSync): string | undefined {
  const record = markOf(database, 'clock')
  return typeof record === 'string' ? record : undefined
}

/** Within the current transaction. */
export function putClockRecord(database: DatabaseSync, record: string): void {
  putMark(database, 'clock', record)
}

/** Whether a log, which may be in use, is a restored backup that was neither compared nor accepted. */
export function isUnacceptedBackup(file: string): boolean {
  const database = openForReading(file)
  try {
    return markOf(database, 'backup') !== undefined && !isAccepted(file)
  } finally {
    database.close()
  }
}

/** Accepts a restored backup. A file of its own, since a running node has the only connection that writes. */
export function acceptBackup(file: string, sync?: DiskSync): void {
  createFile(acceptedFile(file), sync)
}

function acceptedFile(file: string): string {
  return `${file}-accepted`
}

function isAccepted(file: string): boolean {
  return existsSync(acceptedFile(file))
}

/** Device and inode. As text, since they have up to 64 bits. */
function identityOf(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true })
  return `${dev}:${ino}`
}

function markOf(database: DatabaseSync, name: MarkName): unknown {
  return database.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value']
}

function putMark(database: DatabaseSync, name: MarkName, value: string | number): void {
  database
    .prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
    .run(name, value)
}

function deleteMark(database: DatabaseSync, name: MarkName): void {
  database.prepare('DELETE FROM meta WHERE name = ?').run(name)
}
