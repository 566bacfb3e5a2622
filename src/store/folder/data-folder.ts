import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { makeFolders, removeEmptyFolders } from '../disk/make-folders.ts'
import { type DiskSync, diskSync } from '../disk/sync.ts'
import { accessDenied, type Lock, takeLock } from './lock.ts'
import { topicFiles, topicsFolder } from './topic-files.ts'
import { writeDurably } from './write-durably.ts'

/** The format version of a data folder. A folder of a higher version is not touched. */
const format = 1

/** The data folder of a node. One process at a time can open it. */
export class DataFolder {
  readonly path: string
  readonly #lock: Lock
  /** The directories that were created, the outermost first. */
  readonly #made: readonly string[]

  private constructor(path: string, lock: Lock, made: readonly string[]) {
    this.path = path
    this.#lock = lock
    this.#made = made
  }

  /** Opens the folder. With `create` it is created, including its parents, if it is missing. */
  static open(folder: string, { create }: { create: boolean }, sync: DiskSync = diskSync): DataFolder {
    const path = resolve(folder)
    if (!create) DataFolder.require(path)
    const made = create ? makeDataFolder(path, sync) : []
    try {
      refuseForeign(path)
      const opened = new DataFolder(path, takeLock(join(path, 'lockfile'), path), made)
      try {
        checkManifest(path, sync)
        checkIdentity(path)
        return opened
      } catch (error) {
        opened.discard()
        throw error
      }
    } catch (error) {
      removeEmptyFolders(made)
      throw error
    }
  }

  /** Throws unless there is a data folder: it is missing, something else, or not accessible. */
  static require(folder: string): void {
    requireFolder(resolve(folder))
  }

  /** Whether the folder belongs to a node. */
  static exists(folder: string): boolean {
    return existsSync(manifestOf(resolve(folder)))
  }

  /** The small database with identity, start counter and settings. */
  get nodeDatabase(): string {
    return nodeDatabaseOf(this.path)
  }

  close(): void {
    this.#lock.release()
  }

  /**
   * Closes the folder after a failed start. If this process created it, it is removed with the files that a start
   * creates; other files stay. Must not be called after a write was acknowledged to a client.
   */
  discard(): void {
    if (this.#made.length === 0) {
      this.close()
      return
    }
    const files = ['node.db', 'node.db-wal', 'node.db-shm', 'shoal.json', 'shoal.json.new']
    try {
      for (const name of files) rmSync(join(this.path, name), { force: true })
      rmSync(topicsFolder(this.path), { recursive: true, force: true })
    } finally {
      this.#lock.remove()
      removeEmptyFolders(this.#made)
    }
  }
}

function manifestOf(path: string): string {
  return join(path, 'shoal.json')
}

function nodeDatabaseOf(path: string): string {
  return join(path, 'node.db')
}

function makeDataFolder(path: string, sync: DiskSync): string[] {
  try {
    const made = makeFolders(path, sync)
    if (statSync(path).isDirectory()) return made
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot create the data directory \`${path}\``, { cause: error })
  }
  throw new ShoalError('ERR_IO', `\`${path}\` is not a directory`)
}

function requireFolder(path: string): void {
  if (!isThere(path, path)) throw new ShoalError('ERR_INVALID_INPUT', `${path} does not exist`)
  if (!isThere(manifestOf(path), path))
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `${path} is no data directory of shoal; \`shoal settings local init\` makes one`,
    )
}

/** Unlike `existsSync`, it distinguishes a missing file from an inaccessible one. */
function isThere(file: string, folder: string): boolean {
  try {
    statSync(file)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw accessDenied(folder, error) ?? new ShoalError('ERR_IO', `cannot read \`${folder}\``, { cause: error })
  }
}

/** Refuses a folder of the reference system, which has other files: the two must not be mixed. */
function refuseForeign(path: string): void {
  if (existsSync(manifestOf(path)) || !existsSync(join(path, 'node.sqlite'))) return
  const cause = `\`${path}\` holds the data of an Actyx node, which shoal leaves alone. Choose another directory with --working-dir.`
  throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
}

function checkManifest(path: string, sync: DiskSync): void {
  const file = manifestOf(path)
  if (!existsSync(file)) {
    writeDurably(file, `${JSON.stringify({ product: 'shoal', format })}\n`, sync)
    return
  }
  let manifest: { product?: unknown; format?: unknown } | null
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8')) as typeof manifest
  } catch (error) {
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be read: ${messageOf(error)}`)
  }
  if (manifest?.product !== 'shoal' || !Number.isInteger(manifest.format) || Number(manifest.format) < 1)
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` is not the manifest of a data directory of shoal`)
  if (Number(manifest.format) > format) {
    const cause = `Detected future version ${String(manifest.format)} of the data directory \`${path}\`: a later version of shoal wrote it. Nothing was changed.`
    throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
  }
}

/** Refuses events without an identity: a new one could not continue their signed streams. */
function checkIdentity(path: string): void {
  if (existsSync(nodeDatabaseOf(path)) || topicFiles(path).length === 0) return
  const cause = `\`${path}\` holds events, but \`node.db\` with the identity of their node is missing. Put it back from a backup, or choose another directory with --working-dir.`
  throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
}
