import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { messageOf, ShoalError } from '../errors.ts'
import { takeLock } from './lock.ts'
import { topicFiles } from './topic-files.ts'

/** The version of everything in a data folder. A folder with a higher one is not touched. */
const format = 1

/** The folder with everything that a node keeps. One process at a time has it. */
export class DataFolder {
  readonly path: string
  readonly #lock: { release(): void }

  private constructor(path: string, lock: { release(): void }) {
    this.path = path
    this.#lock = lock
  }

  /** Opens the folder, and makes it with its parents when it is not there and `create` is set. */
  static open(folder: string, { create }: { create: boolean }): DataFolder {
    const path = resolve(folder)
    if (create) makeFolder(path)
    else if (!existsSync(path)) throw new ShoalError('ERR_INVALID_INPUT', `${path} does not exist`)
    else if (!existsSync(manifestOf(path)))
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        `${path} is no data directory of shoal; \`shoal settings local init\` makes one`,
      )
    refuseForeign(path)
    const lock = takeLock(join(path, 'lockfile'), path)
    try {
      checkManifest(path)
      checkIdentity(path)
    } catch (error) {
      lock.release()
      throw error
    }
    return new DataFolder(path, lock)
  }

  /** Whether the folder holds a node already. */
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
}

function manifestOf(path: string): string {
  return join(path, 'shoal.json')
}

function nodeDatabaseOf(path: string): string {
  return join(path, 'node.db')
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot create the data directory \`${path}\``, { cause: error })
  }
  if (!statSync(path).isDirectory()) throw new ShoalError('ERR_IO', `\`${path}\` is not a directory`)
}

/** The reference system keeps other files under such a path; its nodes must not find ours among them, nor we theirs. */
function refuseForeign(path: string): void {
  if (existsSync(manifestOf(path)) || !existsSync(join(path, 'node.sqlite'))) return
  const cause = `\`${path}\` holds the data of an Actyx node, which shoal leaves alone. Choose another directory with --working-dir.`
  throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
}

function checkManifest(path: string): void {
  const file = manifestOf(path)
  if (!existsSync(file)) {
    writeDurably(file, `${JSON.stringify({ product: 'shoal', format })}\n`)
    return
  }
  let manifest: { product?: unknown; format?: unknown } | null
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8')) as typeof manifest
  } catch (error) {
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` cannot be read: ${messageOf(error)}`)
  }
  if (manifest?.product !== 'shoal' || typeof manifest.format !== 'number')
    throw new ShoalError('ERR_INVALID_NODE_STATE', `\`${file}\` is not the manifest of a data directory of shoal`)
  if (manifest.format > format) {
    const cause = `Detected future version ${manifest.format} of the data directory \`${path}\`: a later version of shoal wrote it. Nothing was changed.`
    throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
  }
}

/** Events are signed by the node that wrote them: another identity could never write on in their streams. */
function checkIdentity(path: string): void {
  if (existsSync(nodeDatabaseOf(path)) || topicFiles(path).length === 0) return
  const cause = `\`${path}\` holds events, but \`node.db\` with the identity of their node is missing. Put it back from a backup, or choose another directory with --working-dir.`
  throw new ShoalError('ERR_INVALID_NODE_STATE', cause)
}

/** The file is there with all of its bytes, or not at all, also after a power cut. */
function writeDurably(file: string, text: string): void {
  const temporary = `${file}.new`
  const descriptor = openSync(temporary, 'w', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
  syncFolder(join(file, '..'))
}

function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
