import type { IncomingMessage, ServerResponse } from 'node:http'
import { failure, type ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { bodyCost } from '../client-memory/account.ts'
import { release } from '../runtime/buffers.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

/** The client has gone before it had sent everything: there is nobody to answer to. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Who is charged for a body while it is received and worked on. */
export interface BodyHolder {
  /** Charges bytes; answers false, and charges nothing, when there is no room for them. */
  charge(bytes: number): boolean
  /** The error for what could not be charged. */
  readonly refusal: ShoalError
  /** A body is received until the function that is returned is called; `refuse` ends it early. */
  receiveBody(refuse: (reason: ShoalError) => void): () => void
}

/** Reads the bodies of requests. */
export class BodyReader {
  readonly #pauseMs: number
  readonly #timers: Timers

  constructor(pauseMs: number, timers: Timers) {
    this.#pauseMs = pauseMs
    this.#timers = timers
  }

  async read(request: IncomingMessage, response: ServerResponse, limit: number, holder: BodyHolder): Promise<Buffer> {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > limit) throw tooLarge(declared, limit)
    if (awaitsContinue(request)) response.writeContinue()
    const body = new Body(limit, holder)
    try {
      // Most have come as a whole with their heads.
      const all = request.complete ? (request.read() as Buffer | null) : undefined
      if (all === undefined)
        await received(request, body, holder, this.#timers, this.#pauseMs, () => {
          // What comes later could not be told from the next request.
          response.shouldKeepAlive = false
        })
      else if (all !== null) {
        const error = body.add(all)
        if (error !== undefined) throw error
      }
    } catch (error) {
      body.drop()
      throw error
    }
    return body.whole()
  }

  /**
   * The body as it comes, with backpressure: no more is taken from the network than is read here. A piece is the reader's
   * only until the next one is asked for.
   */
  stream(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Buffer> {
    if (awaitsContinue(request)) response.writeContinue()
    return streamed(request, this.#timers, this.#pauseMs)
  }
}

/**
 * Gives the memory of a body, or of a piece of one, back at once if nothing else stands there. They would fill it otherwise, and
 * most of the work be to collect them.
 */
export function giveBack(body: Buffer): void {
  if (body.byteLength === body.buffer.byteLength) release(body)
}

/** Bytes of a body in progress that wait for whoever streams it. */
const streamedBytes = 64 * 1024

/**
 * The parts of a body, gathered into pieces. The request stays in flowing mode as long as there is room: Node would keep each
 * part by itself, and one of a single byte costs hundreds.
 */
async function* streamed(request: IncomingMessage, timers: Timers, pauseMs: number): AsyncGenerator<Buffer> {
  const parts = new Parts()
  let wake = (): void => {}
  let state: 'open' | 'ended' | 'gone' = request.readableEnded ? 'ended' : request.destroyed ? 'gone' : 'open'
  const onData = (part: Buffer): void => {
    parts.add(part)
    if (parts.length >= streamedBytes) request.pause()
    wake()
  }
  const onEnd = (): void => {
    state = 'ended'
    wake()
  }
  const onClose = (): void => {
    if (state === 'open') state = 'gone'
    wake()
  }
  request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', followedByClose)
  try {
    for (;;) {
      if (parts.length > 0) {
        const piece = parts.take()
        request.resume()
        yield piece
        giveBack(piece)
      } else if (state === 'open') {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await withinPause(woken, timers, pauseMs)
      } else if (state === 'ended') return
      else throw new ClientGone()
    }
  } finally {
    request.off('data', onData).off('end', onEnd).off('close', onClose)
    parts.drop()
    // Drains what is left: a client that sends all before it reads would never get its answer otherwise.
    request.resume()
  }
}

/** Waits, unless that takes longer than a body may pause. */
async function withinPause(next: Promise<void>, timers: Timers, pauseMs: number): Promise<void> {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = timers.setTimeout(() => reject(paused(pauseMs)), pauseMs)
  })
  try {
    await Promise.race([next, late])
  } finally {
    timers.clear(timer)
  }
}

/** Whether the client waits to be told that its body is wanted. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect?.toLowerCase() === '100-continue'
}

/** Bytes of a part below which it is copied: as a buffer of its own, a part of one byte costs hundreds. */
const copiedBytes = 8 * 1024
/** Bytes of the first buffer and of the largest one that such parts are copied into. */
const [leastGathered, mostGathered] = [1024, 64 * 1024]

/** Parts of a body, as few buffers. */
class Parts {
  readonly #parts: Buffer[] = []
  /** The buffer that small parts are gathered in, how much of it is used, and where it stands among the parts. */
  #gathering: Buffer | undefined
  #used = 0
  length = 0
  /** Bytes of memory of all of them. */
  allocated = 0

  add(part: Buffer): void {
    this.length += part.length
    // The first one is often the only one.
    if (this.#parts.length > 0 || this.#gathering !== undefined ? part.length >= copiedBytes : true) this.#keep(part)
    else this.#gather(part)
  }

  #keep(part: Buffer): void {
    this.#endGathering()
    this.#parts.push(part)
    this.allocated += part.length
  }

  #gather(part: Buffer): void {
    let from = 0
    while (from < part.length) {
      if (this.#gathering === undefined || this.#used === this.#gathering.length) this.#begin()
      const gathering = this.#gathering as unknown as Buffer
      const copied = part.copy(gathering, this.#used, from)
      this.#used += copied
      from += copied
    }
  }

  #begin(): void {
    const before = this.#gathering?.length ?? 0
    this.#endGathering()
    const size = Math.min(mostGathered, Math.max(leastGathered, 2 * before))
    this.#gathering = Buffer.allocUnsafeSlow(size)
    this.allocated += size
  }

  #endGathering(): void {
    if (this.#gathering === undefined) return
    this.#parts.push(this.#gathering.subarray(0, this.#used))
    this.#gathering = undefined
    this.#used = 0
  }

  /** All of it as one buffer; nothing is left. */
  take(): Buffer {
    this.#endGathering()
    const parts = this.#parts.splice(0)
    const { length } = this
    this.length = 0
    this.allocated = 0
    const [first] = parts
    if (first !== undefined && parts.length === 1) return first
    const whole = Buffer.concat(parts, length)
    for (const part of parts) giveBack(part)
    return whole
  }

  /** Gives the memory back. */
  drop(): void {
    this.#endGathering()
    for (const part of this.#parts.splice(0)) giveBack(part)
    this.length = 0
  }
}

/** A body that is read as a whole, charged to whoever sends it. */
class Body {
  readonly #limit: number
  readonly #holder: BodyHolder
  readonly #parts = new Parts()
  #smallParts = 0
  #charged = 0

  constructor(limit: number, holder: BodyHolder) {
    this.#limit = limit
    this.#holder = holder
  }

  /** Adds a part; answers with an error when it is one too many. */
  add(part: Buffer): ShoalError | undefined {
    const parts = this.#parts
    parts.add(part)
    if (parts.length > this.#limit) return tooLarge(parts.length, this.#limit)
    if (part.length < limits.smallPartBytes && ++this.#smallParts > limits.smallParts) return tooManySmallParts()
    const cost = bodyCost(parts.allocated)
    if (!this.#holder.charge(cost - this.#charged)) return this.#holder.refusal
    this.#charged = cost
    return undefined
  }

  /** Parts are put together once, at the end. */
  whole(): Buffer {
    return this.#parts.take()
  }

  drop(): void {
    this.#parts.drop()
  }
}

/** Waits for the end of a request, whose parts go into a body. */
function received(
  request: IncomingMessage,
  body: Body,
  holder: BodyHolder,
  timers: Timers,
  pauseMs: number,
  late: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      timers.clear(timer)
      stopReceiving()
      // A request may stay for longer than what came with it.
      request.off('data', onData).off('close', onClose).off('end', onEnd)
      settle()
    }
    const refuse = (error: ShoalError): void => {
      late()
      end(() => reject(error))
    }
    const timer = timers.setTimeout(() => refuse(paused(pauseMs)), pauseMs)
    const stopReceiving = holder.receiveBody(refuse)
    const onData = (part: Buffer): void => {
      timer.refresh()
      const error = body.add(part)
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

function tooManySmallParts(): ShoalError {
  const { smallParts, smallPartBytes } = limits
  return failure('ERR_BAD_REQUEST', {
    cause: `Its body has more than ${smallParts} chunks of less than ${smallPartBytes} bytes.`,
  })
}

function tooLarge(size: number, limit: number): ShoalError {
  return failure('ERR_PAYLOAD_TOO_LARGE', { size, limit })
}
