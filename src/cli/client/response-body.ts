import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { failure, messageOf } from '../../base/errors.ts'
import type { Timers } from '../../runtime/timers.ts'

/** Length at which a malformed response is cut in an error message. */
const shownLength = 60

/** A response above the limits: too large or too slow, as no honest node sends it. */
export class ResponseRejected extends Error {
  override readonly name = 'ResponseRejected'
}

export interface ResponseLimits {
  readonly maxBytes: number
  /** Milliseconds for the whole body. */
  readonly timeoutMs: number
  readonly timers: Timers
}

/** Reads a response body. A hostile node may send without end, or a byte from time to time. */
export async function readText(
  response: IncomingMessage,
  { maxBytes, timeoutMs, timers }: ResponseLimits,
): Promise<string> {
  const timer = timers.setTimeout(() => response.destroy(new ResponseRejected('timeout')), timeoutMs)
  try {
    const held = new GrowingBuffer(maxBytes, 'the answer')
    for await (const chunk of response as AsyncIterable<Buffer>) held.append(chunk)
    return held.take()
  } finally {
    timers.clear(timer)
  }
}

/** The lines of a response, which may be endless. Throws when the connection is closed before the end. */
export async function* readLines(response: Readable, maxBytes: number): AsyncGenerator<string> {
  const held = new GrowingBuffer(maxBytes, 'a line of the answer')
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const first = chunk.indexOf('\n')
      held.append(first < 0 ? chunk : chunk.subarray(0, first))
      if (first < 0) continue
      yield held.take()
      const last = chunk.lastIndexOf('\n')
      if (last > first) yield* chunk.toString('utf8', first + 1, last).split('\n')
      held.append(chunk.subarray(last + 1))
    }
  } catch (error) {
    const closed = error instanceof ResponseRejected ? '' : 'the connection was closed: '
    throw failure('ERR_NODE_UNREACHABLE', { cause: `${closed}${messageOf(error)}` })
  }
  yield held.take()
}

/** Copies chunks into one buffer: a list of one-byte chunks would take a hundred times their size in memory. */
class GrowingBuffer {
  readonly #maxBytes: number
  readonly #what: string
  #buffer: Buffer = Buffer.alloc(0)
  #used = 0

  constructor(maxBytes: number, what: string) {
    this.#maxBytes = maxBytes
    this.#what = what
  }

  append(chunk: Buffer): void {
    const used = this.#used + chunk.length
    if (used > this.#maxBytes) throw new ResponseRejected(`${this.#what} has more than ${this.#maxBytes} bytes`)
    if (used > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(used, 2 * this.#buffer.length)))
      this.#buffer.copy(larger, 0, 0, this.#used)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#used)
    this.#used = used
  }

  /** Returns the content as text, and empties the buffer. */
  take(): string {
    const text = this.#buffer.toString('utf8', 0, this.#used)
    this.#used = 0
    return text
  }
}

/** Parses the JSON of a response. Otherwise the error names the sender, and quotes the start of the text. */
export function parseResponse<T>(text: string, from: string): T {
  try {
    return JSON.parse(text) as T
  } catch {
    const start = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
    throw failure('ERR_NODE_UNREACHABLE', { cause: `${from} has sent what is not JSON: ${JSON.stringify(start)}` })
  }
}
