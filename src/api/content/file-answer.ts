import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { type Content, type Files, sniffedBytes, typeByContent, typeByName } from '../../files/index.ts'
import { type Answer, errorAnswer, type Pieces } from '../answer.ts'
import type { Call } from '../call.ts'
import { rangeOf } from './range.ts'

/** A file that is to be sent. */
export interface SentFile {
  readonly file: Extract<Content, { type: 'file' }>
  /** Its name in the directory in which it was found. */
  readonly name?: string
  /** What the address says never changes when it is an identifier. */
  readonly by: 'cid' | 'name'
  /** Whether the address is that of its directory, so that others who ask get something else. */
  readonly asIndex?: boolean
}

const caching = {
  cid: 'private, max-age=31536000, immutable',
  name: 'no-cache, no-store, must-revalidate',
} as const

/** A file, the part of it that is asked for, or that it is the one that the client has. */
export async function fileAnswer({ request }: Call, files: Files, sent: SentFile): Promise<Answer> {
  const { file, by, name, asIndex = false } = sent
  const etag = `"${file.cid}"`
  const known = { etag, 'cache-control': caching[by], ...(asIndex && { vary: 'accept' }) }
  if (isKnown(request.headers['if-none-match'], etag)) return { status: 304, headers: known, body: '' }
  const condition = request.headers['if-range']
  const range = condition === undefined || condition === etag ? rangeOf(request.headers.range, file.size) : undefined
  if (range === 'unsatisfiable') return unsatisfiable(file.size)
  const { start, end } = range ?? { start: 0, end: file.size }
  const headers = {
    ...known,
    'content-type': typeByName(name ?? '') ?? typeByContent(await startOf(files, file)),
    'content-length': String(end - start),
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    ...(name !== undefined && !asIndex && { 'content-disposition': dispositionOf(name) }),
    ...(range !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
  }
  return {
    status: range === undefined ? 200 : 206,
    headers,
    body: new FilePieces(files.read(file.cid, start, end), end - start),
  }
}

function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}

function unsatisfiable(size: number): Answer {
  const { status, headers, body } = errorAnswer(failure('ERR_RANGE_NOT_SATISFIABLE', { size }))
  return { status, headers: { ...headers, 'content-range': `bytes */${size}` }, body }
}

/** The first bytes of a file: what it looks like. */
async function startOf(files: Files, { cid, size }: SentFile['file']): Promise<Uint8Array> {
  for await (const piece of files.read(cid, 0, Math.min(size, sniffedBytes))) return piece
  return new Uint8Array(0)
}

/** A header has no other characters than these; for the others there is a second form of the name. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_')
  const exact = plain === name ? '' : `;filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, percentEncoded)}`
  return `inline;filename="${plain}"${exact}`
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** The bytes of a file on their way to a client, who may go away. */
class FilePieces implements Pieces {
  readonly heldBytes: number
  readonly #pieces: AsyncGenerator<Uint8Array>

  constructor(pieces: AsyncGenerator<Uint8Array>, size: number) {
    this.#pieces = pieces
    this.heldBytes = Math.min(size, limits.downloadHeldBytes)
  }

  cancel(): void {
    this.#pieces.return(undefined).catch(() => {})
  }

  /** Gives the memory back at once: until the next clearing up, a large file would take up a multiple of it. */
  sent({ buffer }: Uint8Array): void {
    if (buffer instanceof ArrayBuffer) buffer.transfer(0)
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#pieces
  }
}
