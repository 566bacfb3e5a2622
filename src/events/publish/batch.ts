import { limits } from '../../base/limits.ts'
import { ByteWriter } from '../../protocol/index.ts'
import type { AppendRequest } from '../../store/index.ts'

/** Size of a small event, for estimating the number of events from the size of the body. */
const smallEventBytes = 128

/** The events of one publish request, in the form in which the store takes them. */
export class Batch {
  /** Labels and payloads, one after the other. */
  readonly source: ByteWriter
  #spans: Int32Array
  #streams: Uint32Array
  #count = 0

  constructor(capacity: number) {
    this.source = new ByteWriter(capacity)
    const events = Math.min(limits.eventsPerPublish, Math.ceil(capacity / smallEventBytes))
    this.#spans = new Int32Array(4 * events)
    this.#streams = new Uint32Array(events)
  }

  /** Adds an event whose labels and payload are in `source` already. */
  add(stream: number, labels: number, labelsEnd: number, payload: number, payloadEnd: number): void {
    if (this.#count === this.#streams.length) this.#grow()
    const spans = this.#spans
    const at = 4 * this.#count
    spans[at] = labels
    spans[at + 1] = labelsEnd
    spans[at + 2] = payload
    spans[at + 3] = payloadEnd
    this.#streams[this.#count++] = stream
  }

  /** The request with all added events; valid until the next `add` or `clear`. */
  request(): AppendRequest {
    return {
      source: this.source.written,
      spans: this.#spans.subarray(0, 4 * this.#count),
      streams: this.#streams.subarray(0, this.#count),
    }
  }

  /** Removes all events. Invalidates requests that were made before. */
  clear(): this {
    this.source.clear()
    this.#count = 0
    return this
  }

  #grow(): void {
    const [spans, streams] = [this.#spans, this.#streams]
    this.#spans = new Int32Array(2 * spans.length)
    this.#spans.set(spans)
    this.#streams = new Uint32Array(2 * streams.length)
    this.#streams.set(streams)
  }
}
