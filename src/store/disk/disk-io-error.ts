import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { failure, messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { isCorrupt, sqliteCode, sqliteCodes } from '../../base/sqlite-codes.ts'

/** SQLite cannot use the file, its folder or the disk. */
const refusals: ReadonlySet<number | undefined> = new Set([
  sqliteCodes.permission,
  sqliteCodes.readOnly,
  sqliteCodes.cannotOpen,
  sqliteCodes.full,
  sqliteCodes.ioError,
])

const noRoom = 'there is no room left on the disk'
/** Less than the shared-memory file of a write-ahead log needs. */
const tooLittleBytes = 64 * 1024

/** An error of the disk or file system, with the reason as message. The cause of errors that users see. */
export class DiskError extends Error {
  override readonly name = 'DiskError'
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

/** The reason of an error of the disk or file system; undefined for other errors. */
export function diskErrorReason(error: unknown, file?: string): string | undefined {
  if (error instanceof DiskError) return error.message
  if (isCorrupt(error)) return undefined
  if (sqliteCode(error) === sqliteCodes.full || systemCode(error) === 'ENOSPC') return noRoom
  // SQLite may report a full disk as an I/O error.
  if (sqliteCode(error) === sqliteCodes.ioError && file !== undefined && isFull(file)) return noRoom
  // Error codes of Node begin with ERR_, those of the system do not.
  if (refusals.has(sqliteCode(error)) || /^E(?!RR_)/.test(systemCode(error) ?? '')) return messageOf(error)
  return undefined
}

/** The same, for an error or one of its causes. */
export function refusalIn(error: unknown, file?: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  return diskErrorReason(error, file) ?? refusalIn(error.cause, file)
}

/** Rethrows disk errors, which are not damage. */
export function rethrowDiskError(error: unknown): void {
  if (diskErrorReason(error) !== undefined) throw error
}

/** The error for a failed write to a file. */
export function storageError(error: unknown, file: string): ShoalError {
  const refused = refusalIn(error, file)
  const cause = refused === undefined ? error : new DiskError(refused, { cause: error })
  return failure('ERR_STORAGE', { cause: refused ?? messageOf(error) }, { cause })
}

/** The error for a database of blocks or blobs that cannot be opened: a disk error, or damage. */
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
    { cause: new DiskError(refused) },
  )
}

function why(error: unknown, damage: string | undefined): string {
  return damage === undefined ? messageOf(error) : `${messageOf(error)}. ${damage}`
}
