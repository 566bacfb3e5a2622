import { tuning } from '../../base/tuning.ts'
import type { MemoryHolder } from '../../client-memory/account.ts'
import { isOwn, release } from '../../runtime/buffers.ts'
import type { Reading } from '../port/index.ts'
import { isWorthKeeping } from './spare-memory.ts'

/** What is smaller is soon collected: there may be thousands in a second. */
const smallBytes = 4096

const over = { done: true, value: undefined } as const

/**
 * Pieces between the thread that makes them and whoever takes them. There may be hundreds who take small ones, so it
 * is an iterator by hand: a generator takes several turns for each piece.
 */
export class PieceQueue implements Reading, AsyncIterator<Buffer> {
  readonly started: Promise<void>
  readonly ended: Promise<void>
  readonly #pieces: Buffer[] = []
  readonly #started: { resolve(): void; reject(error: Error): void }
  readonly #end: () => void
  readonly #taken: (bytes: number, spare: ArrayBuffer[]) => void
  readonly #cancelled: () => void
  #ended = false
  #error: Error | undefined
  /** Whoever waits for the next piece. */
  #waiting: ((result: IteratorResult<Buffer> | Promise<IteratorResult<Buffer>>) => void) | undefined
  /**
   * Bytes of the piece that was given last: whoever asks for more is done with it, and may have given its memory
   * back.
   */
  #given = 0
  /** Memory of pieces that came back. */
  #spare: ArrayBuffer[] = []
  /** Bytes that were taken and not yet told. */
  #untold = 0
  /** Who is charged for the pieces that wait. */
  #holder: MemoryHolder | undefined
  #charged = 0

  constructor(taken: (bytes: number, spare: ArrayBuffer[]) => void, cancelled: () => void) {
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

  chargeTo(holder: MemoryHolder): void {
    this.#holder = holder
  }

  push(piece: Buffer): void {
    if (this.#ended) return
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting !== undefined) waiting(this.#give(piece))
    else if (this.#charge(piece)) this.#pieces.push(piece)
  }

  end(error: Error | undefined): void {
    this.#ended = true
    this.#error = error
    this.#end()
    for (const memory of this.#spare.splice(0)) release(new Uint8Array(memory))
    if (error === undefined) this.#started.resolve()
    else this.#started.reject(error)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.(this.#last())
  }

  cancel(): void {
    const ended = this.#ended
    // At once: until the next garbage collection they could add up to a multiple of what is charged.
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

  giveBack(piece: Uint8Array): void {
    const { buffer } = piece
    if (buffer.byteLength < smallBytes) return
    if (this.#ended || !isWorthKeeping(buffer) || !isOwn(buffer)) {
      release(piece)
      return
    }
    this.#spare.push(buffer)
    // Whoever waits for the next piece may do so for days.
    if (this.#waiting !== undefined) this.#tell(0)
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this
  }

  next(): Promise<IteratorResult<Buffer>> {
    this.#tell(this.#given)
    this.#given = 0
    const piece = this.#pieces.shift()
    if (piece !== undefined) {
      this.#refund(piece.length)
      return Promise.resolve(this.#give(piece))
    }
    if (this.#ended) return this.#last()
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  return(): Promise<IteratorResult<Buffer>> {
    this.cancel()
    return Promise.resolve(over)
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
    // What came before there was a holder was not charged.
    const refunded = Math.min(bytes, this.#charged)
    this.#charged -= refunded
    this.#holder?.refund(refunded)
  }

  #give(piece: Buffer): IteratorResult<Buffer> {
    this.#given = piece.length
    return { done: false, value: piece }
  }

  /** What comes after all pieces: an error, once, or nothing. */
  #last(): Promise<IteratorResult<Buffer>> {
    const error = this.#error
    this.#error = undefined
    return error === undefined ? Promise.resolve(over) : Promise.reject(error)
  }

  /** Not for every small piece: there may be thousands in a second. */
  #tell(bytes: number): void {
    this.#untold += bytes
    if (this.#untold < tuning.queryCreditBytes / 4 && this.#spare.length === 0) return
    this.#taken(this.#untold, this.#spare)
    this.#untold = 0
    this.#spare = []
  }
}
