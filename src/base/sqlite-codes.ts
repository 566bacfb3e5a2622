/** The primary error codes of SQLite that are handled (https://www.sqlite.org/rescode.html). */
export const sqliteCodes = {
  /** A statement does not fit the schema of this database. */
  error: 1,
  permission: 3,
  /** Another connection holds the lock. */
  busy: 5,
  readOnly: 8,
  /** The disk or its file system has failed. */
  ioError: 10,
  corrupt: 11,
  /** The disk is full. */
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
} as const

/** The primary code of an error of SQLite; undefined for other errors. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

function extendedCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}

/** SQLITE_IOERR_SHORT_READ: the file is shorter than the database in it. */
const shortRead = 522

/** Whether SQLite reports a corrupt database. */
export function isCorrupt(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === sqliteCodes.corrupt || code === sqliteCodes.notDatabase || extendedCode(error) === shortRead
}
