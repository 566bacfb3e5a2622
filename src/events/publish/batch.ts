import { ByteWriter } from '../../protocol/index.ts'
import type { AppendRequest } from '../../store/index.ts'

/** The events of one call, or a part of them, in the form in which the store takes them. */
export class Batch {
  /** Labels and payloads, one after the other. */
  readonly source: ByteWriter
  readonly #spans: number[] = []
  readonly #streams: number[] = []

  constructor(capacity: number) {
    this.source = new ByteWriter(capacity)
  }

  get count(): number {
    return this.#streams.length
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
