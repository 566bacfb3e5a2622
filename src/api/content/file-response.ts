import { failure } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { type Content, type Files, sniffedBytes, typeByContent, typeByName } from '../../files/index.ts'
import type { Call } from '../call.ts'
import { errorResponse, type HttpResponse, type StreamedBody } from '../response.ts'
import { rangeOf } from './range.ts'

/** The file of a response, and how it was addressed. */
export interface SentFile {
  readonly file: Extract<Content, { type: 'file' }>
  /** Its name in the directory in which it was found. */
  readonly name?: string
  /** Content behind a CID never changes, so it can be cached as immutable. */
  readonly by: 'cid' | 'name'
  /** Whether the file is served as the index of its directory: the response then varies by `Accept`. */
  readonly asIndex?: boolean
}

const caching = {
  cid: 'private, max-age=31536000, immutable',
  name: 'no-cache, no-store, must-revalidate',
} as const

/** Responds with a file (200), a byte range of it (206) or, to a conditional request, with 304. */
export async function fileResponse({ request }: Call, files: Files, sent: SentFile): Promise<HttpResponse> {
  const { file, by, name, asIndex = false } = sent
  const etag = `"${file.cid}"`
  const cacheHeaders = { etag, 'cache-control': caching[by], ...(asIndex && { vary: 'accept' }) }
  if (matchesEtag(request.headers['if-none-match'], etag)) return { status: 304, headers: cacheHeaders, body: '' }
  const condition = request.headers['if-range']
  const range = condition === undefined || condition === etag ? rangeOf(request.headers.range, file.size) : undefined
  if (range === 'unsatisfiable') return unsatisfiable(file.size)
  const { start, end } = range ?? { start: 0, end: file.size }
  const headers = {
    ...cacheHeaders,
    'content-type': typeByName(name ?? '') ?? typeByContent(await firstBytes(files, file)),
    'content-length': String(end - start),
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    ...(name !== undefined && !asIndex && { 'content-disposition': dispositionOf(name) }),
    ...(range !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
  }
  return {
    status: range === undefined ? 200 : 206,
    headers,
    body: new FileStream(files.read(file.cid, start, end), end - start),
  }
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}

function unsatisfiable(size: number): HttpResponse {
  const { status, headers, body } = errorResponse(failure('ERR_RANGE_NOT_SATISFIABLE', { size }))
  return { status, headers: { ...headers, 'content-range': `bytes */${size}` }, body }
}

/** The first bytes of a file, for content type sniffing. */
async function firstBytes(files: Files, { cid, size }: SentFile['file']): Promise<Uint8Array> {
  for await (const chunk of files.read(cid, 0, Math.min(size, sniffedBytes))) return chunk
  return new Uint8Array(0)
}

/** `Content-Disposition`: `filename` in printable ASCII, and `filename*` (RFC 5987) when that is not the exact name. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, '_')
  const exact = plain === name ? '' : `;filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, percentEncoded)}`
  return `inline;filename="${plain}"${exact}`
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Streams a file; cancelled when the client disconnects. */
class FileStream implements StreamedBody {
  readonly heldBytes: number
  readonly #chunks: AsyncGenerator<Uint8Array>

  constructor(chunks: AsyncGenerator<Uint8Array>, size: number) {
    this.#chunks = chunks
    this.heldBytes = Math.min(size, limits.downloadHeldBytes)
  }

  cancel(): void {
    this.#chunks.return(undefined).catch(() => {})
  }

  /** Releases the buffer at once: before the next garbage collection, a large file would fill a multiple of it. */
  sent({ buffer }: Uint8Array): void {
    if (buffer instanceof ArrayBuffer) buffer.transfer(0)
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#chunks
  }
}
