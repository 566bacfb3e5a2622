import { ByteWriter } from '../../protocol/index.ts'
import type { AppendRequest } from '../../store/index.ts'

/** Where the parts of an event are, and its stream. */
const bytesPerEvent = 20

/** The events of one call, or a part of them, in the form in which the store takes them. */
export class Batch {
  /** Labels and payloads, one after the other. */
  readonly source: ByteWriter
  readonly #spans: number[] = []
  readonly #streams: number[] = []

  constructor(capacity: number) {
    this.source = new ByteWriter(capacity)
  }

  /** What it takes on its way to the store. */
  get bytes(): number {
    return this.source.length + bytesPerEvent * this.#streams.length
  }

  /** Adds an event for an own stream, whose labels and payload are in the source. */
  add(stream: number, labels: number, labelsEnd: number, payload: number, payloadEnd: number): void {
    this.#spans.push(labels, labelsEnd, payload, payloadEnd)
    this.#streams.push(stream)
  }

  request(): AppendRequest {
    return {
      source: this.source.written,
      spans: new Int32Array(this.#spans),
      streams: new Uint32Array(this.#streams),
    }
  }

  /** Begins anew; what was made of it before is no longer good. */
  clear(): void {
    this.source.clear()
    this.#spans.length = 0
    this.#streams.length = 0
  }
}
