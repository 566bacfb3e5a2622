import type { AqlEvent, JsonText, Metadata, Severity, Sink } from '../../aql/index.ts'
import { tuning } from '../../base/tuning.ts'
import { NdjsonWriter } from '../../store/reading/index.ts'
import { LinesSink } from './lines-sink.ts'

const ends = { false: Buffer.from(',"caughtUp":false}\n'), true: Buffer.from(',"caughtUp":true}\n') }
const endOfLine = '}\n'.length

/**
 * Buffers one result until it is known whether another one follows, because only the last one is marked as caught up.
 * Diagnostics after the buffered result are buffered with it, to keep their order.
 */
export class HeldResults implements Sink {
  readonly #lines: NdjsonWriter
  readonly #held = new NdjsonWriter(1024)
  readonly #sink = new LinesSink(this.#held)
  /** End of the buffered result; 0 when there is none. */
  #resultEnd = 0

  constructor(lines: NdjsonWriter) {
    this.#lines = lines
  }

  /** The message of a fatal error, which ends the results. */
  get error(): string | undefined {
    return this.#sink.error
  }

  unchanged(event: AqlEvent): void {
    this.release(false)
    this.#sink.unchanged(event)
    this.#resultEnd = this.#held.written.length
  }

  value(payload: JsonText, metadata: Metadata, anti: boolean): void {
    this.release(false)
    this.#sink.value(payload, metadata, anti)
    this.#resultEnd = this.#held.written.length
  }

  diagnostic(severity: Severity, message: string): void {
    this.#sink.diagnostic(severity, message)
    if (this.#resultEnd === 0 || this.#held.written.length > tuning.pieceBytes) this.release(false)
  }

  /** Writes the buffered lines. */
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
