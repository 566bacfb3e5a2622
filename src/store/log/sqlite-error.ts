import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf, systemCode } from '../../errors.ts'

/** SQLITE_FULL: there is no room on the disk. */
export const sqliteFull = 13
/** SQLITE_IOERR: the disk or its file system has failed. */
const sqliteIo = 10
/** SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN and those above. */
const refusals: ReadonlySet<number | undefined> = new Set([3, 8, 14, sqliteFull, sqliteIo])

const noRoom = 'there is no room left on the disk'
/** Less than what connections share about the write-ahead log takes. */
const tooLittleBytes = 64 * 1024

function isFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < tooLittleBytes
  } catch {
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
export function refusalOf(error: unknown, file: string): string | undefined {
  if (sqliteCode(error) === sqliteFull || systemCode(error) === 'ENOSPC') return noRoom
  // SQLite does not always tell why it could not write.
  if (sqliteCode(error) === sqliteIo && isFull(file)) return noRoom
  // The codes of Node begin with ERR_, those of the system do not.
  if (refusals.has(sqliteCode(error)) || /^E(?!RR_)/.test(systemCode(error) ?? '')) return messageOf(error)
  return undefined
}
