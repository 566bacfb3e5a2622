import { chmodSync, closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ShoalError, systemCode } from '../../base/errors.ts'
import { sqliteCodes } from '../../base/sqlite-codes.ts'

export interface Lock {
  release(): void
  /** Releases the lock and removes its files. */
  remove(): void
}

/** The error for a data folder that another process has open: a node, or a command. */
export class FolderLocked extends ShoalError {
  /** The process that has the lock, if it is known. */
  readonly pid: number | undefined

  constructor(folder: string, pid: number | undefined) {
    const who = pid === undefined ? '' : ` (PID ${pid})`
    const kill = pid === undefined ? '' : ` or \`kill ${pid}\``
    super(
      'ERR_IO',
      `data directory \`${folder}\` is locked by another shoal process${who}: a node is running there. Stop it first (Ctrl+C in its terminal${kill}), choose another directory with --working-dir, or talk to the running node over HTTP (by default http://localhost:4454/api/v2/openapi shows how).`,
    )
    this.pid = pid
  }
}

/**
 * Takes the lock of a data folder. It is a file lock, which the operating system releases when the process ends. Node
 * has no API for file locks, but SQLite uses them: the lock file is an empty database in an open transaction.
 */
export function takeLock(file: string, folder: string): Lock {
  let database: DatabaseSync | undefined
  try {
    // For its owner only: any process that can open it can block others from locking it.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    database = new DatabaseSync(file, { timeout: 0 })
    // Avoids a journal file: nothing is ever written.
    database.exec('PRAGMA journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteCodes.busy)
      throw new FolderLocked(folder, holderOf(file))
    throw (
      accessDenied(folder, error) ??
      new ShoalError('ERR_IO', `cannot lock the data directory \`${folder}\``, { cause: error })
    )
  }
  const held = database
  const release = (): void => {
    rmSync(pidFile(file), { force: true })
    held.close()
  }
  // Race: a failed start of another process removed the file between opening and locking it here.
  if (!existsSync(file)) {
    held.close()
    throw new ShoalError('ERR_IO', `data directory \`${folder}\` was removed while it was being opened; try again`)
  }
  writePid(file)
  const remove = (): void => {
    // Unlinked while it is locked, so that no other process can have locked it.
    rmSync(file, { force: true })
    release()
  }
  return { release, remove }
}

/** The error for a folder without access for this user; undefined for other errors. */
export function accessDenied(folder: string, error: unknown): ShoalError | undefined {
  const code = systemCode(error)
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  const message = `the data directory \`${folder}\` may not be used by ${currentUser()}${ownerOf(folder)}. Run shoal as its owner, or choose another directory with --working-dir.`
  return new ShoalError('ERR_IO', message, { cause: error })
}

/** The file with the PID of the process that holds the lock. It is separate, because the lock file is a database. */
function pidFile(file: string): string {
  return `${file}.pid`
}

function writePid(file: string): void {
  try {
    writeFileSync(pidFile(file), `${process.pid}\n`, { mode: 0o600 })
  } catch {
    // Only for error messages; a full disk is reported elsewhere.
  }
}

/** The PID of the running process that has the lock of a data folder, if it is known. */
export function lockHolder(folder: string): number | undefined {
  return holderOf(join(folder, 'lockfile'))
}

/** The PID of the running process that holds the lock; the file of a killed process is stale. */
function holderOf(file: string): number | undefined {
  try {
    const pid = pidIn(file)
    if (pid !== undefined) process.kill(pid, 0)
    return pid
  } catch {
    // Optional detail of an error message: the file is missing, or the process has ended.
    return undefined
  }
}

/** A lock file without an owner is stale: its process was killed, or the machine lost power. */
export type LockState = { readonly is: 'free' } | { readonly is: 'held' | 'stale'; readonly pid: number | undefined }

/** Looks at the lock of a data folder without taking it. */
export function lockState(folder: string): LockState {
  const file = join(folder, 'lockfile')
  if (!existsSync(file)) return { is: 'free' }
  if (isLocked(file)) return { is: 'held', pid: holderOf(file) }
  return existsSync(pidFile(file)) ? { is: 'stale', pid: pidIn(file) } : { is: 'free' }
}

function isLocked(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    // Reading needs a shared lock, which an exclusive one excludes.
    database.exec('PRAGMA schema_version')
    return false
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteCodes.busy) return true
    throw error
  } finally {
    database.close()
  }
}

function pidIn(file: string): number | undefined {
  const pid = Number(readFileSync(pidFile(file), 'utf8'))
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

function currentUser(): string {
  try {
    return `the user '${userInfo().username}'`
  } catch {
    // In containers there are users without a name.
    return `the user with the ID ${process.getuid?.()}`
  }
}

function ownerOf(folder: string): string {
  try {
    return `: it belongs to the user with the ID ${statSync(folder).uid}`
  } catch {
    // Optional detail of an error message.
    return ''
  }
}
