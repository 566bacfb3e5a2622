import { failure, messageOf, ShoalError } from '../errors.ts'
import type { Reading } from '../events/index.ts'
import type { Logger } from '../log/index.ts'
import { release } from '../memory.ts'
import type { Answer, Pieces } from './answer.ts'

const newline = Buffer.from('\n')

/** Lines of JSON as they come, once it is known that they will. */
export async function ndjsonAnswer(reading: Reading, log: Logger, keepAliveMs: number): Promise<Answer> {
  await reading.started
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
    if (piece !== newline) release(piece)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const pieces = this.#reading[Symbol.asyncIterator]()
    try {
      for (let next = pieces.next(); ; next = pieces.next()) {
        let piece = await within(this.#keepAliveMs, next)
        for (; piece === undefined; piece = await within(this.#keepAliveMs, next)) yield newline
        if (piece.done === true) return
        yield piece.value
      }
    } catch (error) {
      yield Buffer.from(`${JSON.stringify(this.#told(error))}\n`)
    }
  }

  #told(error: unknown): ShoalError {
    if (error instanceof ShoalError) return error
    this.#log.error(`a query failed: ${messageOf(error)}`)
    return failure('ERR_INTERNAL', {})
  }
}

/** What comes, unless nothing does for too long. */
function within<T>(pauseMs: number, next: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), pauseMs)
    const end = (settle: () => void) => (): void => {
      clearTimeout(timer)
      settle()
    }
    next.then(
      (value) => end(() => resolve(value))(),
      (error: unknown) => end(() => reject(error))(),
    )
  })
}
