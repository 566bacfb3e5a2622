import type { IncomingMessage, ServerResponse } from 'node:http'
import { failure, invalidRequest, type ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { bodyCost } from '../client-memory/account.ts'
import { release } from '../runtime/buffers.ts'
import type { Timer, Timers } from '../runtime/timers.ts'

/** The client disconnected before the end of its request body: no response is sent. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected'
}

/** Memory accounting for a request body while it is received and processed. */
export interface BodyHolder {
  /** Charges bytes; false, with nothing charged, when that would exceed the memory limit. */
  charge(bytes: number): boolean
  /** The error for a charge that exceeds the memory limit. */
  readonly refusal: ShoalError
  /** Marks the body as being received until the returned function is called. `refuse` aborts it. */
  receiveBody(refuse: (reason: ShoalError) => void): () => void
}

/** Reads request bodies, with an idle timeout. */
export class BodyReader {
  readonly #idleTimeoutMs: number
  readonly #timers: Timers

  constructor(idleTimeoutMs: number, timers: Timers) {
    this.#idleTimeoutMs = idleTimeoutMs
    this.#timers = timers
  }

  async read(request: IncomingMessage, response: ServerResponse, limit: number, holder: BodyHolder): Promise<Buffer> {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > limit) throw tooLarge(declared, limit)
    if (awaitsContinue(request)) response.writeContinue()
    const body = new BufferedBody(limit, holder)
    try {
      // Fast path: most bodies arrive in the same packet as their head.
      const all = request.complete ? (request.read() as Buffer | null) : undefined
      if (all === undefined)
        await receiveAll(request, body, holder, this.#timers, this.#idleTimeoutMs, () => {
          // The rest of the body would be parsed as the next request: no keep-alive.
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
   * Streams the body with backpressure: the socket is only read as fast as the consumer pulls. A chunk is only valid
   * until the next one is pulled.
   */
  stream(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Buffer> {
    if (awaitsContinue(request)) response.writeContinue()
    return streamBody(request, this.#timers, this.#idleTimeoutMs)
  }
}

/**
 * Releases the buffer of a body or chunk at once, unless it shares its memory with others. Under load, garbage
 * collection of these buffers would take most of the CPU time.
 */
export function releaseBody(body: Buffer): void {
  if (body.byteLength === body.buffer.byteLength) release(body)
}

/** High water mark of a streamed body: bytes that are buffered before the request is paused. */
const streamHighWaterMark = 64 * 1024

/**
 * Streams a body, with small chunks coalesced. The request stays in flowing mode below the high water mark: in paused
 * mode Node would buffer each chunk as an object, and a chunk of one byte costs hundreds.
 */
async function* streamBody(request: IncomingMessage, timers: Timers, idleTimeoutMs: number): AsyncGenerator<Buffer> {
  const chunks = new ChunkBuffer()
  let wake = (): void => {}
  let state: 'open' | 'ended' | 'disconnected' = request.readableEnded
    ? 'ended'
    : request.destroyed
      ? 'disconnected'
      : 'open'
  const onData = (chunk: Buffer): void => {
    chunks.add(chunk)
    if (chunks.length >= streamHighWaterMark) request.pause()
    wake()
  }
  const onEnd = (): void => {
    state = 'ended'
    wake()
  }
  const onClose = (): void => {
    if (state === 'open') state = 'disconnected'
    wake()
  }
  request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', followedByClose)
  try {
    for (;;) {
      if (chunks.length > 0) {
        const data = chunks.take()
        request.resume()
        yield data
        releaseBody(data)
      } else if (state === 'open') {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        await withIdleTimeout(woken, timers, idleTimeoutMs)
      } else if (state === 'ended') return
      else throw new ClientDisconnected()
    }
  } finally {
    request.off('data', onData).off('end', onEnd).off('close', onClose)
    chunks.drop()
    // Drain the rest: a client that sends its whole body before it reads would never get its response otherwise.
    request.resume()
  }
}

/** Waits for more of the body; throws after the idle timeout. */
async function withIdleTimeout(next: Promise<void>, timers: Timers, idleTimeoutMs: number): Promise<void> {
  let timer: Timer | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = timers.setTimeout(() => reject(idleTimeout(idleTimeoutMs)), idleTimeoutMs)
  })
  try {
    await Promise.race([next, timeout])
  } finally {
    timers.clear(timer)
  }
}

/** Whether the client sends `Expect: 100-continue` and waits for the interim response before it sends the body. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return request.headers.expect?.toLowerCase() === '100-continue'
}

/**
 * Chunks below this size are copied into a shared buffer: a chunk of one byte costs hundreds as a buffer of its own.
 */
const copiedBytes = 8 * 1024
/** Size of the first and of the largest shared buffer for small chunks. */
const [minSharedBytes, maxSharedBytes] = [1024, 64 * 1024]

/** The chunks of a body, with small ones coalesced. */
class ChunkBuffer {
  readonly #chunks: Buffer[] = []
  /** The shared buffer for small chunks, and how many bytes of it are used. */
  #shared: Buffer | undefined
  #used = 0
  length = 0
  /** Allocated memory in bytes. */
  allocated = 0

  add(chunk: Buffer): void {
    this.length += chunk.length
    // The first chunk is often the only one, and then needs no copy.
    if (this.#chunks.length > 0 || this.#shared !== undefined ? chunk.length >= copiedBytes : true) this.#keep(chunk)
    else this.#copy(chunk)
  }

  #keep(chunk: Buffer): void {
    this.#flushShared()
    this.#chunks.push(chunk)
    this.allocated += chunk.length
  }

  #copy(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length) {
      if (this.#shared === undefined || this.#used === this.#shared.length) this.#growShared()
      const shared = this.#shared as unknown as Buffer
      const copied = chunk.copy(shared, this.#used, from)
      this.#used += copied
      from += copied
    }
  }

  #growShared(): void {
    const before = this.#shared?.length ?? 0
    this.#flushShared()
    const size = Math.min(maxSharedBytes, Math.max(minSharedBytes, 2 * before))
    this.#shared = Buffer.allocUnsafeSlow(size)
    this.allocated += size
  }

  #flushShared(): void {
    if (this.#shared === undefined) return
    this.#chunks.push(this.#shared.subarray(0, this.#used))
    this.#shared = undefined
    this.#used = 0
  }

  /** Takes everything as one buffer. */
  take(): Buffer {
    this.#flushShared()
    const chunks = this.#chunks.splice(0)
    const { length } = this
    this.length = 0
    this.allocated = 0
    const [first] = chunks
    if (first !== undefined && chunks.length === 1) return first
    const whole = Buffer.concat(chunks, length)
    for (const chunk of chunks) releaseBody(chunk)
    return whole
  }

  /** Releases the memory. */
  drop(): void {
    this.#flushShared()
    for (const chunk of this.#chunks.splice(0)) releaseBody(chunk)
    this.length = 0
  }
}

/** A body that is buffered as a whole and charged to its sender. */
class BufferedBody {
  readonly #limit: number
  readonly #holder: BodyHolder
  readonly #chunks = new ChunkBuffer()
  #smallChunks = 0
  #charged = 0

  constructor(limit: number, holder: BodyHolder) {
    this.#limit = limit
    this.#holder = holder
  }

  /** Adds a chunk; returns an error when that exceeds a limit. */
  add(chunk: Buffer): ShoalError | undefined {
    const chunks = this.#chunks
    chunks.add(chunk)
    if (chunks.length > this.#limit) return tooLarge(chunks.length, this.#limit)
    if (chunk.length < limits.smallBodyChunkBytes && ++this.#smallChunks > limits.smallBodyChunks)
      return tooManySmallChunks()
    const cost = bodyCost(chunks.allocated)
    if (!this.#holder.charge(cost - this.#charged)) return this.#holder.refusal
    this.#charged = cost
    return undefined
  }

  /** Concatenates the chunks, once. */
  whole(): Buffer {
    return this.#chunks.take()
  }

  drop(): void {
    this.#chunks.drop()
  }
}

/** Receives a request body to its end. `onAbort` is called when it is aborted before that. */
function receiveAll(
  request: IncomingMessage,
  body: BufferedBody,
  holder: BodyHolder,
  timers: Timers,
  idleTimeoutMs: number,
  onAbort: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      timers.clear(timer)
      stopReceiving()
      // The request may outlive its body: the listeners must not keep the body in memory.
      request.off('data', onData).off('close', onClose).off('end', onEnd)
      settle()
    }
    const refuse = (error: ShoalError): void => {
      onAbort()
      end(() => reject(error))
    }
    const timer = timers.setTimeout(() => refuse(idleTimeout(idleTimeoutMs)), idleTimeoutMs)
    const stopReceiving = holder.receiveBody(refuse)
    const onData = (chunk: Buffer): void => {
      timer.refresh()
      const error = body.add(chunk)
      if (error !== undefined) end(() => reject(error))
    }
    const onClose = (): void => end(() => reject(new ClientDisconnected()))
    const onEnd = (): void => end(resolve)
    request.on('data', onData).on('close', onClose).on('end', onEnd)
    request.on('error', followedByClose)
  })
}

/** An 'error' event needs a listener; the 'close' event after it is handled. */
function followedByClose(): void {}

function idleTimeout(idleTimeoutMs: number): ShoalError {
  return invalidRequest(`Idle timeout: no data of the request body for ${idleTimeoutMs} ms.`)
}

function tooManySmallChunks(): ShoalError {
  const { smallBodyChunks, smallBodyChunkBytes } = limits
  return invalidRequest(
    `The request body has more than ${smallBodyChunks} chunks of less than ${smallBodyChunkBytes} bytes.`,
  )
}

function tooLarge(size: number, limit: number): ShoalError {
  return failure('ERR_PAYLOAD_TOO_LARGE', { size, limit })
}
