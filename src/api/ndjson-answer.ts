import { damageOf, failure, messageOf, ShoalError } from '../base/errors.ts'
import type { Reading } from '../events/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Answer, Pieces } from './answer.ts'
import type { Call } from './call.ts'

const newline = Buffer.from('\n')

/** Lines of JSON as they come, once it is known that they will. */
export async function ndjsonAnswer(
  reading: Reading,
  { client: { connection }, response }: Call,
  log: Logger,
  keepAliveMs: number,
): Promise<Answer> {
  reading.chargeTo?.(connection)
  // Preparing a long query takes time, and memory, which is of no use to a client that has gone.
  const gone = (): void => reading.cancel()
  response.once('close', gone)
  try {
    await reading.started
  } finally {
    response.off('close', gone)
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    body: new Lines(reading, log, keepAliveMs),
  }
}

/** An empty line keeps the connection open while there is nothing to say; what goes wrong on the way is the last line. */
class Lines implements Pieces {
  readonly #reading: Reading
  readonly #log: Logger
  readonly #keepAliveMs: number

  constructor(reading: Reading, log: Logger, keepAliveMs: number) {
    this.#reading = reading
    this.#log = log
    this.#keepAliveMs = keepAliveMs
  }

  cancel(): void {
    this.#reading.cancel()
  }

  sent(piece: Uint8Array): void {
    if (piece !== newline) this.#reading.giveBack?.(piece)
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    const pieces = this.#reading[Symbol.asyncIterator]()
    return new KeptAlive(pieces, this.#keepAliveMs, (error) => Buffer.from(`${JSON.stringify(this.#told(error))}\n`))
  }

  #told(error: unknown): ShoalError {
    if (error instanceof ShoalError) return error
    this.#log.error(`a query failed: ${messageOf(error)}`)
    return damageOf(error) ?? failure('ERR_INTERNAL', {})
  }
}

const over = { done: true, value: undefined } as const

/** Pieces as they come, and an empty line whenever none has come for a while. One timer is enough for all of them. */
class KeptAlive implements AsyncIterator<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #lastLine: (error: unknown) => Uint8Array
  readonly #timer: NodeJS.Timeout
  /** Whether a piece was asked for that has not come yet. */
  #isPending = false
  /** What has come while nobody waited for it. */
  #arrived: IteratorResult<Uint8Array> | undefined
  #waiting: ((result: IteratorResult<Uint8Array>) => void) | undefined
  #isOver = false

  constructor(pieces: AsyncIterator<Uint8Array>, pauseMs: number, lastLine: (error: unknown) => Uint8Array) {
    this.#pieces = pieces
    this.#lastLine = lastLine
    this.#timer = setTimeout(() => this.#settle({ done: false, value: newline }), pauseMs)
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const arrived = this.#arrived
    this.#arrived = undefined
    if (arrived !== undefined) return Promise.resolve(arrived)
    if (this.#isOver) return this.return()
    if (!this.#isPending) this.#ask()
    this.#timer.refresh()
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#pieces.return?.()
    return Promise.resolve(over)
  }

  #ask(): void {
    this.#isPending = true
    this.#pieces.next().then(
      (result) => this.#came(result),
      (error: unknown) => {
        this.#isOver = true
        this.#came({ done: false, value: this.#lastLine(error) })
      },
    )
  }

  #came(result: IteratorResult<Uint8Array>): void {
    this.#isPending = false
    if (result.done === true) {
      this.#isOver = true
      clearTimeout(this.#timer)
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
