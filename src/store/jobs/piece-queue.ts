import { tuning } from '../../base/tuning.ts'
import type { MemoryHolder } from '../../client-memory/account.ts'
import { release } from '../../runtime/buffers.ts'
import type { Reading } from '../port/index.ts'

const endOfIteration = { done: true, value: undefined } as const

/**
 * The queue of pieces between the reader thread and a consumer. There may be hundreds of consumers of small pieces, so
 * the iterator is written by hand: an async generator needs several microtasks per piece.
 */
export class PieceQueue implements Reading, AsyncIterator<Buffer> {
  readonly started: Promise<void>
  readonly ended: Promise<void>
  readonly #pieces: Buffer[] = []
  readonly #started: { resolve(): void; reject(error: Error): void }
  readonly #end: () => void
  readonly #consumed: (bytes: number) => void
  readonly #cancelled: () => void
  #ended = false
  #error: Error | undefined
  /** Resolves the pending `next` call. */
  #waiting: ((result: IteratorResult<Buffer> | Promise<IteratorResult<Buffer>>) => void) | undefined
  /** Size of the last delivered piece: the consumer is done with it when it calls `next` again. */
  #deliveredBytes = 0
  /** Consumed bytes that were not credited to the producer yet. */
  #unacknowledged = 0
  /** Is charged for queued pieces. */
  #holder: MemoryHolder | undefined
  #charged = 0

  constructor(consumed: (bytes: number) => void, cancelled: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.started = promise
    this.#started = { resolve, reject }
    // The consumer gets the error from the iterator as well.
    promise.catch(() => {})
    const end = Promise.withResolvers<void>()
    this.ended = end.promise
    this.#end = end.resolve
    this.#consumed = consumed
    this.#cancelled = cancelled
  }

  start(): void {
    this.#started.resolve()
  }

  chargeTo(holder: MemoryHolder): void {
    this.#holder = holder
  }

  push(piece: Buffer): void {
    if (this.#ended) return
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting !== undefined) waiting(this.#deliver(piece))
    else if (this.#charge(piece)) this.#pieces.push(piece)
  }

  end(error: Error | undefined): void {
    this.#ended = true
    this.#error = error
    this.#end()
    if (error === undefined) this.#started.resolve()
    else this.#started.reject(error)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(this.#last())
  }

  cancel(): void {
    const ended = this.#ended
    // Immediately: until the next garbage collection they could add up to a multiple of the charged memory.
    for (const piece of this.#pieces.splice(0)) release(piece)
    this.#refund(this.#charged)
    this.end(undefined)
    if (!ended) this.#cancelled()
  }

  fail(error: Error): void {
    if (this.#ended) return
    this.end(error)
    this.#cancelled()
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this
  }

  next(): Promise<IteratorResult<Buffer>> {
    this.#acknowledge(this.#deliveredBytes)
    this.#deliveredBytes = 0
    const piece = this.#pieces.shift()
    if (piece !== undefined) {
      this.#refund(piece.length)
      return Promise.resolve(this.#deliver(piece))
    }
    if (this.#ended) return this.#last()
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  return(): Promise<IteratorResult<Buffer>> {
    this.cancel()
    return Promise.resolve(endOfIteration)
  }

  #charge(piece: Buffer): boolean {
    const holder = this.#holder
    if (holder === undefined) return true
    if (!holder.charge(piece.length)) {
      release(piece)
      this.fail(holder.refusal)
      return false
    }
    this.#charged += piece.length
    return true
  }

  #refund(bytes: number): void {
    // Pieces from before there was a holder were not charged.
    const refunded = Math.min(bytes, this.#charged)
    this.#charged -= refunded
    this.#holder?.refund(refunded)
  }

  #deliver(piece: Buffer): IteratorResult<Buffer> {
    this.#deliveredBytes = piece.length
    return { done: false, value: piece }
  }

  /** The result after all pieces: the error, once, or the end. */
  #last(): Promise<IteratorResult<Buffer>> {
    const error = this.#error
    this.#error = undefined
    return error === undefined ? Promise.resolve(endOfIteration) : Promise.reject(error)
  }

  /** Credits consumed bytes in batches: there may be thousands of small pieces per second. */
  #acknowledge(bytes: number): void {
    this.#unacknowledged += bytes
    if (this.#unacknowledged < tuning.queryCreditBytes / 4) return
    this.#consumed(this.#unacknowledged)
    this.#unacknowledged = 0
  }
}
