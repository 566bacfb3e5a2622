import { damageOf, failure, messageOf, ShoalError } from '../base/errors.ts'
import type { Reading } from '../events/index.ts'
import type { Logger } from '../logging/index.ts'
import { release } from '../runtime/buffers.ts'
import type { Timer, Timers } from '../runtime/timers.ts'
import type { Call } from './call.ts'
import type { HttpResponse, StreamedBody } from './response.ts'

const newline = Buffer.from('\n')

/** Streams query results as NDJSON. Waits for the query to start, so that an early error gets its own status code. */
export async function ndjsonResponse(
  reading: Reading,
  { client: { connection }, response }: Call,
  log: Logger,
  timers: Timers,
  keepAliveMs: number,
): Promise<HttpResponse> {
  reading.chargeTo?.(connection)
  // Preparing a long query costs time and memory: cancel it when the client disconnects.
  const onClose = (): void => reading.cancel()
  response.once('close', onClose)
  try {
    await reading.started
  } finally {
    response.off('close', onClose)
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    body: new NdjsonStream(reading, log, timers, keepAliveMs),
  }
}

/** The response body: result lines, keep-alive lines, and an error as the last line when the query fails midway. */
class NdjsonStream implements StreamedBody {
  readonly #reading: Reading
  readonly #log: Logger
  readonly #timers: Timers
  readonly #keepAliveMs: number

  constructor(reading: Reading, log: Logger, timers: Timers, keepAliveMs: number) {
    this.#reading = reading
    this.#log = log
    this.#timers = timers
    this.#keepAliveMs = keepAliveMs
  }

  cancel(): void {
    this.#reading.cancel()
  }

  sent(chunk: Uint8Array): void {
    if (chunk !== newline) release(chunk)
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    const chunks = this.#reading[Symbol.asyncIterator]()
    return new KeepAliveIterator(chunks, this.#timers, this.#keepAliveMs, (error) =>
      Buffer.from(`${JSON.stringify(this.#reported(error))}\n`),
    )
  }

  #reported(error: unknown): ShoalError {
    if (error instanceof ShoalError) return error
    this.#log.error(`a query failed: ${messageOf(error)}`)
    return damageOf(error) ?? failure('ERR_INTERNAL', {})
  }
}

const finished = { done: true, value: undefined } as const

/** Adds a keep-alive, an empty line, whenever no chunk has arrived for a while. One timer serves all chunks. */
class KeepAliveIterator implements AsyncIterator<Uint8Array> {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #lastLine: (error: unknown) => Uint8Array
  readonly #timers: Timers
  readonly #timer: Timer
  /** Whether a pull from the source is pending. */
  #isPending = false
  /** A result that arrived after a keep-alive was returned in its place. */
  #arrived: IteratorResult<Uint8Array> | undefined
  #waiting: ((result: IteratorResult<Uint8Array>) => void) | undefined
  #isFinished = false

  constructor(
    chunks: AsyncIterator<Uint8Array>,
    timers: Timers,
    intervalMs: number,
    lastLine: (error: unknown) => Uint8Array,
  ) {
    this.#chunks = chunks
    this.#lastLine = lastLine
    this.#timers = timers
    this.#timer = timers.setTimeout(() => this.#settle({ done: false, value: newline }), intervalMs)
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const arrived = this.#arrived
    this.#arrived = undefined
    if (arrived !== undefined) return Promise.resolve(arrived)
    if (this.#isFinished) return this.return()
    if (!this.#isPending) this.#pull()
    this.#timer.refresh()
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#isFinished = true
    this.#timers.clear(this.#timer)
    this.#chunks.return?.()
    return Promise.resolve(finished)
  }

  #pull(): void {
    this.#isPending = true
    this.#chunks.next().then(
      (result) => this.#onResult(result),
      (error: unknown) => {
        this.#isFinished = true
        this.#onResult({ done: false, value: this.#lastLine(error) })
      },
    )
  }

  #onResult(result: IteratorResult<Uint8Array>): void {
    this.#isPending = false
    if (result.done === true) {
      this.#isFinished = true
      this.#timers.clear(this.#timer)
    }
    if (this.#waiting === undefined) this.#arrived = result
    else this.#settle(result)
  }

  #settle(result: IteratorResult<Uint8Array>): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(result)
  }
}
