import type { AqlEvent, Metadata, Severity, Sink } from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { NdjsonWriter } from '../../store/reading/index.ts'
import { LinesSink } from './lines-sink.ts'

const ends = { false: Buffer.from(',"caughtUp":false}\n'), true: Buffer.from(',"caughtUp":true}\n') }
const endOfLine = '}\n'.length

/**
 * Holds one result back until it is known whether another one follows: the last of those that are known says so. What is
 * said between two results waits with the first, to stay in its place.
 */
export class HeldResults implements Sink {
  readonly #lines: NdjsonWriter
  readonly #held = new NdjsonWriter(1024)
  readonly #sink = new LinesSink(this.#held)
  /** Where the result ends that is held; 0 when there is none. */
  #resultEnd = 0

  constructor(lines: NdjsonWriter) {
    this.#lines = lines
  }

  /** The message of an error, which is the last one. */
  get error(): string | undefined {
    return this.#sink.error
  }

  unchanged(event: AqlEvent): void {
    this.release(false)
    this.#sink.unchanged(event)
    this.#resultEnd = this.#held.written.length
  }

  value(payload: string, metadata: Metadata, anti: boolean): void {
    this.release(false)
    this.#sink.value(payload, metadata, anti)
    this.#resultEnd = this.#held.written.length
  }

  diagnostic(severity: Severity, message: string): void {
    this.#sink.diagnostic(severity, message)
    if (this.#resultEnd === 0 || this.#held.written.length > tuning.pieceBytes) this.release(false)
  }

  /** Lets go what is held. */
  release(caughtUp: boolean): void {
    const held = this.#held.written
    if (this.#resultEnd > 0) {
      this.#lines.bytes(held.subarray(0, this.#resultEnd - endOfLine))
      this.#lines.bytes(ends[`${caughtUp}`])
    }
    this.#lines.bytes(held.subarray(this.#resultEnd))
    this.#held.clear()
    this.#resultEnd = 0
  }
}
