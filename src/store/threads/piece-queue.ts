import { limits } from '../../limits.ts'
import type { Reading } from '../event-store.ts'

/** Pieces between the thread that makes them and whoever takes them. */
export class PieceQueue implements Reading {
  readonly started: Promise<void>
  readonly ended: Promise<void>
  readonly #pieces: Buffer[] = []
  readonly #started: { resolve(): void; reject(error: Error): void }
  readonly #end: () => void
  readonly #taken: (bytes: number) => void
  readonly #cancelled: () => void
  #ended = false
  #error: Error | undefined
  #wake: (() => void) | undefined
  /** Bytes that were taken and not yet told. */
  #untold = 0

  constructor(taken: (bytes: number) => void, cancelled: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.started = promise
    this.#started = { resolve, reject }
    // Whoever does not ask for it is told when reading.
    promise.catch(() => {})
    const end = Promise.withResolvers<void>()
    this.ended = end.promise
    this.#end = end.resolve
    this.#taken = taken
    this.#cancelled = cancelled
  }

  start(): void {
    this.#started.resolve()
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#wake?.()
  }

  end(error: Error | undefined): void {
    this.#ended = true
    this.#error = error
    this.#end()
    if (error === undefined) this.#started.resolve()
    else this.#started.reject(error)
    this.#wake?.()
  }

  cancel(): void {
    const ended = this.#ended
    this.#pieces.length = 0
    this.end(undefined)
    if (!ended) this.#cancelled()
  }

  fail(error: Error): void {
    if (this.#ended) return
    this.end(error)
    this.#cancelled()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      while (true) {
        const piece = this.#pieces.shift()
        if (piece !== undefined) {
          // Whoever is done with it may have given its memory back.
          const { length } = piece
          yield piece
          this.#tell(length)
        } else if (this.#ended) {
          if (this.#error !== undefined) throw this.#error
          return
        } else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
    } finally {
      this.cancel()
    }
  }

  /** Not for every small piece: there may be thousands in a second. */
  #tell(bytes: number): void {
    this.#untold += bytes
    if (this.#untold < limits.bytesAhead / 4) return
    this.#taken(this.#untold)
    this.#untold = 0
  }
}
