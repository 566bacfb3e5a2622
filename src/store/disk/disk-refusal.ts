import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { failure, messageOf, ShoalError, systemCode } from '../../base/errors.ts'

/** SQLITE_FULL: there is no room on the disk. */
export const sqliteFull = 13
/** SQLITE_IOERR: the disk or its file system has failed. */
const sqliteIo = 10
/** SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN and those above. */
const refusals: ReadonlySet<number | undefined> = new Set([3, 8, 14, sqliteFull, sqliteIo])

const noRoom = 'there is no room left on the disk'
/** Less than what connections share about the write-ahead log takes. */
const tooLittleBytes = 64 * 1024

/** The disk or its file system has refused something; the message says why. The cause of errors that tell users of it. */
export class DiskRefusal extends Error {
  override readonly name = 'DiskRefusal'
}

function isFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < tooLittleBytes
  } catch {
    // It only refines the message of another error, which is reported.
    return false
  }
}

/** The primary code of an error of SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined
}

/** What the disk or its file system has refused, in words; nothing when it was something else. */
export function refusalOf(error: unknown, file?: string): string | undefined {
  if (error instanceof DiskRefusal) return error.message
  if (sqliteCode(error) === sqliteFull || systemCode(error) === 'ENOSPC') return noRoom
  // SQLite does not always tell why it could not write.
  if (sqliteCode(error) === sqliteIo && file !== undefined && isFull(file)) return noRoom
  // The codes of Node begin with ERR_, those of the system do not.
  if (refusals.has(sqliteCode(error)) || /^E(?!RR_)/.test(systemCode(error) ?? '')) return messageOf(error)
  return undefined
}

/** The same for an error or one of its causes. */
export function refusalIn(error: unknown, file?: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  return refusalOf(error, file) ?? refusalIn(error.cause, file)
}

/** Throws what the disk has refused: it is no damage. */
export function throwRefusal(error: unknown): void {
  if (refusalOf(error) !== undefined) throw error
}

/** What is answered when something could not be stored in a file. */
export function storageError(error: unknown, file: string): ShoalError {
  const refused = refusalIn(error, file)
  const cause = refused === undefined ? error : new DiskRefusal(refused, { cause: error })
  return failure('ERR_STORAGE', { cause: refused ?? messageOf(error) }, { cause })
}

/** Why a database with blocks or blobs could not be opened: the disk refused, or the file is not what it should be. */
export function openingError(error: unknown, file: string, damage?: string): ShoalError {
  if (error instanceof ShoalError) return error
  const refused = refusalIn(error, file)
  if (refused === undefined)
    return new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be used: ${why(error, damage)}`, {
      cause: error,
    })
  return failure(
    'ERR_STORAGE',
    { cause: `\`${file}\` cannot be opened: ${refused}` },
    { cause: new DiskRefusal(refused) },
  )
}

function why(error: unknown, damage: string | undefined): string {
  return damage === undefined ? messageOf(error) : `${messageOf(error)}. ${damage}`
}
