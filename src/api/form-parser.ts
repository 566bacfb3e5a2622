import type { Dicer } from '@fastify/busboy'
import { invalidRequest, messageOf, ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { fileNameOf } from './file-name.ts'

/** A part of a multipart form. Its content has to be read before the next part is pulled. */
export interface FormPart {
  /** Undefined for a part that is not a file. */
  readonly fileName: string | undefined
  readonly content: AsyncIterable<Buffer>
}

/** The boundary in a multipart content type; undefined for other content types. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const [, parameters = ''] = /^\s*multipart\/[^;]+;(.*)$/is.exec(contentType ?? '') ?? []
  const [, quoted, plain] =
    /(?:^|;)\s*boundary=(?:"([ !#-~]{1,200})"|([!#-:<-~]{1,200})(?=$|[\s;]))/i.exec(parameters) ?? []
  return quoted ?? plain
}

/**
 * The parts of a form, parsed as its body arrives. A chunk of the body is only used until the next one is pulled,
 * which happens when all its content was read.
 */
export async function* formParts(body: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<FormPart> {
  // Loaded with the first upload: it would delay the start of every node.
  const parser = new FormParser((await import('@fastify/busboy')).Dicer, body, boundary)
  try {
    for (let part = await parser.nextPart(); part !== undefined; part = await parser.nextPart()) {
      yield part
      for await (const _ of part.content);
    }
    await parser.drain()
  } finally {
    await parser.close()
  }
}

type PartHeaders = Readonly<Record<string, readonly string[]>>

/** A part whose opening boundary was received. */
interface ReceivedPart {
  readonly stream: Dicer.PartStream
  headers: PartHeaders | undefined
  /** Received content that was not yet read. */
  readonly chunks: Buffer[]
}

/** Bytes of the largest chunk of a body: the size of Node's read buffer. */
const largestChunkBytes = 64 * 1024

/**
 * A pull parser around the push parser Dicer of busboy. One chunk of the body is parsed at a time, and its content is
 * read from the streams of the Dicer at once. They never reach their high water mark, so the Dicer never pauses. A
 * paused Dicer with several parts in one chunk can miss a callback (docs/decisions/0026-busboy.md).
 */
class FormParser {
  readonly #dicer: Dicer
  readonly #chunks: AsyncIterator<Buffer>
  /** Parts that were not yet returned by `nextPart`, in order. */
  readonly #waiting: ReceivedPart[] = []
  /** The part that is being received. */
  #last: ReceivedPart | undefined
  /** Parts whose streams can have unread content. */
  #open: ReceivedPart[] = []
  /** Bytes received since the chunk with the opening boundary of the last part, while its headers are incomplete. */
  #headerBytes = 0
  #error: ShoalError | undefined
  /** Whether the closing boundary was found. */
  #finished = false

  constructor(DicerClass: typeof Dicer, body: AsyncIterable<Buffer>, boundary: string) {
    this.#chunks = body[Symbol.asyncIterator]()
    const options = {
      boundary,
      partHwm: Number.MAX_SAFE_INTEGER,
      // The Dicer cuts longer headers off in silence. #parse refuses them before they can be that long.
      maxHeaderSize: limits.partHeaderBytes + 2 * largestChunkBytes,
    }
    this.#dicer = new DicerClass(options)
    this.#dicer.on('part', (part) => this.#begin(part))
    this.#dicer.on('finish', () => {
      this.#finished = true
    })
    // The only error it has.
    this.#dicer.on('error', () => {
      this.#error = malformed('it ends before its closing boundary')
    })
  }

  /** The next part; nothing after the last one. */
  async nextPart(): Promise<FormPart | undefined> {
    while (this.#waiting[0]?.headers === undefined && (await this.#receive()));
    const part = this.#waiting.shift()
    if (part === undefined) return undefined
    if (part.headers === undefined) throw endlessHeaders()
    const [disposition = ''] = part.headers['content-disposition'] ?? []
    // The Dicer gives bytes as characters.
    const fileName = fileNameOf(Buffer.from(disposition, 'latin1').toString('utf8'))
    return { fileName, content: this.#content(part) }
  }

  /** Drains the epilogue after the closing boundary. */
  async drain(): Promise<void> {
    while ((await this.#chunks.next()).done !== true);
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async *#content(part: ReceivedPart): AsyncGenerator<Buffer> {
    yield* part.chunks.splice(0)
    while (part === this.#last) {
      const more = await this.#receive()
      yield* part.chunks.splice(0)
      if (!more) return
    }
  }

  /** Throws out of the `write` that is being parsed, so that nothing after an error is parsed. */
  #begin(stream: Dicer.PartStream): void {
    if (this.#last !== undefined && this.#last.headers === undefined) throw endlessHeaders()
    const part: ReceivedPart = { stream, headers: undefined, chunks: [] }
    stream.on('header', (headers) => {
      part.headers = headers as PartHeaders
      if (sizeOf(part.headers) > limits.partHeaderBytes) throw longHeaders()
    })
    // The Dicer reports the same error itself.
    stream.on('error', () => {})
    this.#headerBytes = 0
    this.#last = part
    this.#waiting.push(part)
    this.#open.push(part)
  }

  /** Parses the next chunk of the body; false when the form is complete. */
  async #receive(): Promise<boolean> {
    if (this.#finished) return false
    const { done, value } = await this.#chunks.next()
    if (done === true) await this.#end()
    else this.#parse(value)
    return !this.#finished
  }

  #parse(chunk: Buffer): void {
    const before = this.#last
    try {
      this.#dicer.write(chunk)
    } catch (error) {
      throw error instanceof ShoalError ? error : malformed(messageOf(error))
    }
    for (const { stream, chunks } of this.#open) {
      const content = stream.read() as Buffer | null
      if (content !== null) chunks.push(content)
    }
    const last = this.#last
    this.#open = last === undefined ? [] : [last]
    if (last === undefined || last.headers !== undefined || last !== before) return
    this.#headerBytes += chunk.length
    if (this.#headerBytes > limits.partHeaderBytes) throw longHeaders()
  }

  /** Ends the Dicer, and waits until it finishes or fails. */
  async #end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#dicer.once('finish', resolve).once('error', resolve).once('close', resolve)
    if (!this.#finished) {
      this.#dicer.end()
      await promise
    }
    if (this.#error !== undefined) throw this.#error
    if (!this.#finished) throw malformed('it is incomplete')
  }
}

function sizeOf(headers: PartHeaders): number {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value) => name.length + value.length + 4),
  )
  return lines.reduce((sum, length) => sum + length, 0)
}

function longHeaders(): ShoalError {
  return malformed(`the headers of a part have more than ${limits.partHeaderBytes} bytes`)
}

function endlessHeaders(): ShoalError {
  return malformed('the headers of a part do not end before the next boundary')
}

function malformed(cause: string): ShoalError {
  return invalidRequest(`Malformed multipart body: ${cause}.`)
}
