import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { failure, messageOf } from '../base/errors.ts'
import type { Timers } from '../runtime/timers.ts'

/** Characters of a malformed answer that are shown. */
const shownLength = 60

/** An answer that no node sends: too large, or too slow. */
export class AnswerRefused extends Error {
  override readonly name = 'AnswerRefused'
}

export interface AnswerLimits {
  readonly maxBytes: number
  /** Milliseconds for the whole body. */
  readonly timeoutMs: number
  readonly timers: Timers
}

/** Reads an answer. A hostile node may send without end, or a byte from time to time. */
export async function textOf(
  response: IncomingMessage,
  { maxBytes, timeoutMs, timers }: AnswerLimits,
): Promise<string> {
  const timer = timers.setTimeout(() => response.destroy(new AnswerRefused('timeout')), timeoutMs)
  try {
    const held = new HeldBytes(maxBytes, 'the answer')
    for await (const chunk of response as AsyncIterable<Buffer>) held.append(chunk)
    return held.take()
  } finally {
    timers.clear(timer)
  }
}

/** The lines of an answer, which may be endless. Throws when the connection ends before the answer does. */
export async function* linesOf(response: Readable, maxBytes: number): AsyncGenerator<string> {
  const held = new HeldBytes(maxBytes, 'a line of the answer')
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
    const closed = error instanceof AnswerRefused ? '' : 'the connection was closed: '
    throw failure('ERR_NODE_UNREACHABLE', { cause: `${closed}${messageOf(error)}` })
  }
  yield held.take()
}

/** Bytes in one buffer that grows: chunks of one byte would take a hundred times their size. */
class HeldBytes {
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
    if (used > this.#maxBytes) throw new AnswerRefused(`${this.#what} has more than ${this.#maxBytes} bytes`)
    if (used > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(used, 2 * this.#buffer.length)))
      this.#buffer.copy(larger, 0, 0, this.#used)
      this.#buffer = larger
    }
    chunk.copy(this.#buffer, this.#used)
    this.#used = used
  }

  /** The bytes as text; then there are none. */
  take(): string {
    const text = this.#buffer.toString('utf8', 0, this.#used)
    this.#used = 0
    return text
  }
}

/** Parses JSON of a node. Throws an error that says who has sent something else. */
export function parsedAnswer<T>(text: string, from: string): T {
  try {
    return JSON.parse(text) as T
  } catch {
    const start = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
    throw failure('ERR_NODE_UNREACHABLE', { cause: `${from} has sent what is not JSON: ${JSON.stringify(start)}` })
  }
}
