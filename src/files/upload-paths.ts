import { failure, type ShoalError } from '../errors.ts'
import { limits } from '../limits.ts'

/** The paths of the files of one upload: each is good, and none is in the way of another. */
export class UploadPaths {
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()

  /** The parts of a path that a client has given. */
  add(given: string): string[] {
    if (this.#files.size >= limits.filesPerUpload) throw refused(`There are more than ${limits.filesPerUpload} files.`)
    if (Buffer.byteLength(given) > limits.filePathBytes)
      throw refused(`A file name has more than ${limits.filePathBytes} bytes.`)
    const path = given.replace(/^\//, '')
    const parts = path.split('/')
    const problem = parts.map(partProblem).find((found) => found !== undefined)
    if (problem !== undefined) throw refused(`The file name '${given}' ${problem}.`)
    const folders = parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join('/'))
    const inTheWay = folders.find((folder) => this.#files.has(folder))
    if (this.#files.has(path)) throw refused(`There are two files named '${path}'.`)
    if (inTheWay !== undefined || this.#folders.has(path))
      throw refused(`'${inTheWay ?? path}' is both a file and a directory.`)
    this.#files.add(path)
    for (const folder of folders) this.#folders.add(folder)
    return parts
  }
}

function partProblem(part: string): string | undefined {
  if (part === '') return 'has an empty part'
  if (part === '.' || part === '..') return `has the part '${part}', which leads elsewhere`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\x00-\x1f\x7f]/.test(part) || !part.isWellFormed() ? 'has characters that no name has' : undefined
}

function refused(cause: string): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause })
}
