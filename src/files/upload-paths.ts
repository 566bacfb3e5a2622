import { failure, type ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** Directory entries by name: a map for a directory, undefined for a file. */
type Folder = Map<string, Folder | undefined>

/** Validates the paths of the files of one upload, and detects conflicts between them. */
export class UploadPaths {
  readonly #root: Folder = new Map()
  #files = 0
  #folders = 0
  #bytes = 0

  /** Adds a path from a client. Returns its segments. */
  add(path: string): string[] {
    const parts = this.#withinLimits(path).replace(/^\//, '').split('/')
    const problem = parts.map(partProblem).find((found) => found !== undefined)
    if (problem !== undefined) throw refused(`The file name '${path}' ${problem}.`)
    let folder = this.#root
    for (let i = 0; i < parts.length - 1; i++) folder = this.#folderIn(folder, parts, i)
    const name = parts.at(-1) ?? ''
    if (folder.get(name) !== undefined) throw conflict(parts)
    if (folder.has(name)) throw refused(`There are two files named '${parts.join('/')}'.`)
    folder.set(name, undefined)
    return parts
  }

  #withinLimits(path: string): string {
    const bytes = Buffer.byteLength(path)
    if (bytes > limits.filePathBytes) throw refused(`A file name has more than ${limits.filePathBytes} bytes.`)
    this.#bytes += bytes
    if (this.#bytes > limits.pathBytesPerUpload)
      throw refused(`All file names have more than ${limits.pathBytesPerUpload} bytes together.`)
    if (++this.#files > limits.filesPerUpload) throw refused(`There are more than ${limits.filesPerUpload} files.`)
    return path
  }

  /** The directory of a path segment, created if necessary. */
  #folderIn(folder: Folder, parts: readonly string[], index: number): Folder {
    const name = parts[index] ?? ''
    const known = folder.get(name)
    if (known !== undefined) return known
    if (folder.has(name)) throw conflict(parts.slice(0, index + 1))
    if (++this.#folders > limits.foldersPerUpload)
      throw refused(`There are more than ${limits.foldersPerUpload} directories.`)
    const made: Folder = new Map()
    folder.set(name, made)
    return made
  }
}

function partProblem(part: string): string | undefined {
  if (part === '') return 'has an empty part'
  if (part === '.' || part === '..') return `has the part '${part}', which leads elsewhere`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for
  return /[\x00-\x1f\x7f]/.test(part) || !part.isWellFormed() ? 'has characters that no name has' : undefined
}

function conflict(path: readonly string[]): ShoalError {
  return refused(`'${path.join('/')}' is both a file and a directory.`)
}

function refused(cause: string): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause })
}
