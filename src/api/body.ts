import type { IncomingMessage, ServerResponse } from 'node:http'
import { failure, type ShoalError } from '../errors.ts'
import { limits } from '../limits.ts'
import { release } from '../memory.ts'
import { Samples } from '../samples.ts'

/** Bytes of a body that may stay for a while. */
const smallBytes = 4096

/** The client has gone before it had sent everything: there is nobody to answer to. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Reads the bodies of requests; what all of them hold together has a limit. */
export class BodyReader {
  readonly #pauseMs: number
  #held = 0
  readonly #samples = new Samples<'body'>()

  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs
  }

  /** Of whatever comes, `holds` is told how many bytes it has: these count until they are let go. */
  async read(
    request: IncomingMessage,
    response: ServerResponse,
    limit: number,
    holds: (bytes: number) => void = () => {},
  ): Promise<Buffer> {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > limit) throw tooLarge(declared, limit)
    if (awaitsContinue(request)) response.writeContinue()
    const body = new Body(limit)
    const take = (part: Buffer): ShoalError | undefined => {
      this.#held += part.length
      holds(part.length)
      return (
        body.add(part) ?? (this.#held > limits.bodyBytesTogether ? failure('ERR_SERVICE_OVERLOADED', {}) : undefined)
      )
    }
    try {
      // Most have come as a whole with their heads.
      const all = request.complete ? (request.read() as Buffer | null) : undefined
      if (all === undefined)
        await received(request, take, this.#pauseMs, () => {
          // What comes later could not be told from the next request.
          response.shouldKeepAlive = false
        })
      else if (all !== null) {
        const error = take(all)
        if (error !== undefined) throw error
      }
    } catch (error) {
      body.drop()
      throw error
    }
    const whole = body.whole()
    if (whole.buffer.byteLength < smallBytes) this.#samples.keep('body', [body, whole])
    return whole
  }

  /** Nobody needs so many bytes any more. */
  letGo(bytes: number): void {
    this.#held -= bytes
  }

  /**
   * The body as it comes: nothing more is taken from the network than whoever reads it takes. A piece is the reader's only
   * until the next one is asked for.
   */
  async *stream(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Buffer> {
    if (awaitsContinue(request)) response.writeContinue()
    const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
    try {
      while (true) {
        const next = await withinPause(pieces.next(), this.#pauseMs)
        if (next.done === true) return
        yield next.value
        giveBack(next.value)
      }
    } finally {
      // Whoever does not want the rest has to let it pass, or the answer would never be read. A piece that is still to come
      // comes first: nobody waits for it here.
      pieces.return?.().then(
        () => request.resume(),
        () => {},
      )
    }
  }
}

/**
 * Gives the memory of a body, or of a piece of one, back at once if nothing else stands there. They would fill it otherwise, and
 * most of the work be to collect them.
 */
export function giveBack(body: Buffer): void {
  if (body.byteLength === body.buffer.byteLength) release(body)
}

/** The next piece, unless the client has gone or pauses for too long. */
function withinPause<T>(next: Promise<T>, pauseMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(paused(pauseMs)), pauseMs)
    next.then(resolve, () => reject(new ClientGone())).finally(() => clearTimeout(timer))
  })
}

/** Whether the client waits to be told that its body is wanted. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect?.toLowerCase() === '100-continue'
}

class Body {
  readonly #limit: number
  readonly #parts: Buffer[] = []
  size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(part: Buffer): ShoalError | undefined {
    this.size += part.length
    if (this.size > this.#limit) return tooLarge(this.size, this.#limit)
    this.#parts.push(part)
    return undefined
  }

  /** Parts are put together once, at the end. */
  whole(): Buffer {
    const parts = this.#parts.splice(0)
    const [first] = parts
    if (first !== undefined && parts.length === 1) return first
    const whole = Buffer.concat(parts, this.size)
    for (const part of parts) giveBack(part)
    return whole
  }

  /** Gives back what has come: nobody will ask for it. */
  drop(): void {
    for (const part of this.#parts.splice(0)) giveBack(part)
  }
}

/** Waits for the end of a request; `take` gets each part, and answers with an error when it is one too many. */
function received(
  request: IncomingMessage,
  take: (part: Buffer) => ShoalError | undefined,
  pauseMs: number,
  late: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      // A request may stay for longer than what came with it.
      request.off('data', onData).off('close', onClose).off('end', onEnd)
      settle()
    }
    const timer = setTimeout(() => {
      late()
      end(() => reject(paused(pauseMs)))
    }, pauseMs)
    const onData = (part: Buffer): void => {
      timer.refresh()
      const error = take(part)
      if (error !== undefined) end(() => reject(error))
    }
    const onClose = (): void => end(() => reject(new ClientGone()))
    const onEnd = (): void => end(resolve)
    request.on('data', onData).on('close', onClose).on('end', onEnd)
    request.on('error', followedByClose)
  })
}

/** That tells all there is to tell. */
function followedByClose(): void {}

function paused(pauseMs: number): ShoalError {
  return failure('ERR_BAD_REQUEST', { cause: `Nothing of its body came for ${pauseMs} ms.` })
}

function tooLarge(size: number, limit: number): ShoalError {
  return failure('ERR_PAYLOAD_TOO_LARGE', { size, limit })
}
