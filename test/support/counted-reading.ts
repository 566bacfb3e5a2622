import type { MemoryHolder } from '../../src/client-memory/account.ts'
import type { Reading } from '../../src/events/index.ts'

/** A reading that counts the bytes read from it. */
export class CountedReading implements Reading {
  bytes = 0
  readonly #reading: Reading

  constructor(reading: Reading) {
    this.#reading = reading
  }

  get started(): Promise<void> {
    return this.#reading.started
  }

  get ended(): Promise<void> {
    return this.#reading.ended
  }

  recycle(piece: Uint8Array): void {
    this.#reading.recycle?.(piece)
  }

  chargeTo(holder: MemoryHolder): void {
    this.#reading.chargeTo?.(holder)
  }

  cancel(): void {
    this.#reading.cancel()
  }

  fail(error: Error): void {
    this.#reading.fail(error)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const piece of this.#reading) {
      this.bytes += piece.length
      yield piece
    }
  }
}
