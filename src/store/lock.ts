import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../errors.ts'

/** SQLITE_BUSY: another connection has the lock. */
const busy = 5

/**
 * Takes the lock of a data folder, which the operating system holds for this process and releases when it ends, however
 * it ends. Node has no call for such a lock, but SQLite takes one: the file is an empty database in an open transaction.
 */
export function takeLock(file: string, folder: string): { release(): void } {
  let database: DatabaseSync | undefined
  try {
    // For its owner only: whoever can open it can keep others from locking it.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    database = new DatabaseSync(file, { timeout: 0 })
    // No journal file beside it: nothing is ever written.
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busy)
      throw new ShoalError('ERR_IO', `data directory \`${folder}\` is locked by another shoal process`)
    throw new ShoalError('ERR_IO', `cannot lock the data directory \`${folder}\``, { cause: error })
  }
  const locked = database
  return { release: () => locked.close() }
}
