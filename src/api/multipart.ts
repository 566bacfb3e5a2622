import { failure, type ShoalError } from '../errors.ts'
import { limits } from '../limits.ts'

/** A part of a form. Its content has to be read to its end before the next part comes. */
export interface Part {
  readonly head: string
  readonly content: AsyncIterable<Buffer>
}

/** The boundary that a content type names; nothing when it is not that of a form. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const [, parameters = ''] = /^\s*multipart\/[^;]+;(.*)$/is.exec(contentType ?? '') ?? []
  const [, quoted, plain] = /(?:^|;)\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(parameters) ?? []
  return quoted ?? plain
}

const headEnd = Buffer.from('\r\n\r\n')

/** The parts of a form, as they come. */
export async function* partsOf(body: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const form = new Form(body, boundary)
  try {
    // What comes before the first boundary means nothing.
    await drained(form.untilBoundary())
    while (await form.hasPart()) {
      const content = form.untilBoundary()
      yield { head: await form.head(), content }
      await drained(content)
    }
    await form.drain()
  } finally {
    await form.close()
  }
}

async function drained(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of pieces);
}

/** A place in a form that is being read. */
class Form {
  readonly #pieces: AsyncIterator<Buffer>
  readonly #delimiter: Buffer
  /** What was received and not yet read. The first boundary may be at the very start, as if a line ended before it. */
  #received: Buffer = Buffer.from('\r\n')

  constructor(body: AsyncIterable<Buffer>, boundary: string) {
    this.#pieces = body[Symbol.asyncIterator]()
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /** Everything up to the next boundary, which is passed over. */
  async *untilBoundary(): AsyncGenerator<Buffer> {
    while (true) {
      const found = this.#received.indexOf(this.#delimiter)
      const end = found >= 0 ? found : this.#safeEnd()
      const piece = this.#received.subarray(0, end)
      this.#received = this.#received.subarray(found >= 0 ? end + this.#delimiter.length : end)
      if (piece.length > 0) yield piece
      if (found >= 0) return
      await this.#receive()
    }
  }

  /** Whether a part follows the boundary, or it was the last one. */
  async hasPart(): Promise<boolean> {
    while (true) {
      const rest = this.#received.toString('latin1', 0, limits.partHeadBytes)
      const [line, end] = /^(?:(--)|[ \t]*\r\n)/.exec(rest) ?? []
      if (line !== undefined) {
        this.#received = this.#received.subarray(line.length)
        return end === undefined
      }
      if (!/^(-|[ \t]*\r?)$/.test(rest) || rest.length === limits.partHeadBytes)
        throw malformed('Something else than a line end follows a boundary')
      await this.#receive()
    }
  }

  async head(): Promise<string> {
    // A head without any line has the end of none before its own end.
    this.#received = Buffer.concat([headEnd.subarray(0, 2), this.#received])
    while (true) {
      const end = this.#received.indexOf(headEnd)
      if (end > limits.partHeadBytes || (end < 0 && this.#received.length > limits.partHeadBytes))
        throw malformed(`The head of a part has more than ${limits.partHeadBytes} bytes`)
      if (end >= 0) {
        const head = this.#received.toString('utf8', 0, end)
        this.#received = this.#received.subarray(end + headEnd.length)
        return head
      }
      await this.#receive()
    }
  }

  /** Lets pass what follows the last boundary. */
  async drain(): Promise<void> {
    while ((await this.#pieces.next()).done !== true);
  }

  async close(): Promise<void> {
    await this.#pieces.return?.()
  }

  /** Where something begins that could become a boundary with what comes, if it does. */
  #safeEnd(): number {
    const { length } = this.#received
    const begin = this.#received.indexOf('\r', Math.max(0, length - this.#delimiter.length + 1))
    return begin < 0 ? length : begin
  }

  async #receive(): Promise<void> {
    // The memory of a piece is gone with the next one.
    const rest = Buffer.from(this.#received)
    const { done, value } = await this.#pieces.next()
    if (done === true) throw malformed('It ends before its last boundary')
    this.#received = rest.length === 0 ? value : Buffer.concat([rest, value])
  }
}

/** The name of the file in a part; nothing when it has none. */
export function fileNameOf(head: string): string | undefined {
  const [, disposition = ''] = /(?:^|\r\n)content-disposition:(.*?)(?=\r\n[^ \t]|$)/is.exec(head) ?? []
  const [, extended] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^\s;]*)/i.exec(disposition) ?? []
  if (extended !== undefined) return decoded(extended)
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/is.exec(disposition) ?? []
  // Browsers write a quotation mark as %22, other clients put a backslash before it.
  return quoted?.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"') ?? plain
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw malformed('A file name is not UTF-8')
  }
}

function malformed(cause: string): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause: `This is no form: ${cause}.` })
}
