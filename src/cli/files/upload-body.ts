import { createReadStream, lstatSync, readdirSync, statSync } from 'node:fs'
import { basename, join, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { ShoalError } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import type { Random } from '../../runtime/random.ts'

/** A file in the body of an upload. */
interface BodyFile {
  readonly file: string
  /** Its path in the uploaded directory. */
  readonly name: string
  readonly size: number
}

/** The multipart body of an upload: a file, or the files of a folder. Its Content-Length is known in advance. */
export class UploadBody {
  readonly files: readonly BodyFile[]
  /** Whether the path is a folder: it is uploaded as a directory even with a single file. */
  readonly isFolder: boolean
  readonly #boundary: string

  constructor(path: string, random: Random) {
    this.#boundary = `shoal-${random.bytes(12).toString('hex')}`
    this.files = filesAt(path)
    if (this.files.length === 0) throw new ShoalError('ERR_INVALID_INPUT', `there are no files in \`${path}\``)
    this.isFolder = statSync(path).isDirectory()
    if (this.length > limits.uploadBytes)
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        `\`${path}\` has ${this.length} bytes, more than ${limits.uploadBytes} in one upload`,
      )
  }

  get type(): string {
    return `multipart/form-data; boundary=${this.#boundary}`
  }

  get length(): number {
    const parts = this.files.map((file) => this.#head(file).length + file.size + lineEnd.length)
    return parts.reduce((sum, length) => sum + length, this.#end.length)
  }

  /** Streams the body. `sent` is called with the number of bytes read so far. */
  stream(sent: (bytes: number) => void): Readable {
    return Readable.from(this.#chunks(sent))
  }

  async *#chunks(sent: (bytes: number) => void): AsyncGenerator<Buffer> {
    let bytes = 0
    for (const file of this.files) {
      yield this.#head(file)
      let size = 0
      for await (const read of readAll(file.file)) {
        size += read.length
        if (size > file.size) break
        bytes += read.length
        sent(bytes)
        yield read
      }
      if (size !== file.size) throw new ShoalError('ERR_IO', `\`${file.file}\` has changed while it was read`)
      yield lineEnd
    }
    yield this.#end
  }

  #head({ name }: BodyFile): Buffer {
    const exact = encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
    const disposition = `form-data; name="file"; filename*=UTF-8''${exact}`
    return Buffer.from(`--${this.#boundary}\r\nContent-Disposition: ${disposition}\r\n\r\n`)
  }

  get #end(): Buffer {
    return Buffer.from(`--${this.#boundary}--\r\n`)
  }
}

async function* readAll(file: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(file, { highWaterMark: format.fileChunkBytes }) as AsyncIterable<Buffer>
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot read \`${file}\``, { cause: error })
  }
}

const lineEnd = Buffer.from('\r\n')

function filesAt(path: string): BodyFile[] {
  try {
    const found = statSync(path)
    if (!found.isDirectory()) return [{ file: path, name: basename(resolve(path)), size: found.size }]
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => ({ file: join(path, name), name: name.split(sep).join('/') }))
      .filter(({ file }) => lstatSync(file).isFile())
      .map((file) => ({ ...file, size: statSync(file.file).size }))
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `cannot read \`${path}\``, { cause: error })
  }
}
