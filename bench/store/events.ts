import { randomUUID } from 'node:crypto'
import { ByteWriter, encodeLabels, FrameBuilder, randomSeed } from '../../src/protocol/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'

const appId = 'com.example.load'
/** The period of the tags of `load.mjs`. */
const tagPeriod = 7 * 1000

/** Generates the same events as `bench/load.mjs`. */
export class EventSource {
  /** The tag of all events, and the prefix of the other tags. */
  readonly run = `b${Date.now().toString(36)}`
  readonly #unique: boolean
  readonly #labels = new Map<number, Buffer>()
  #next = 0
  #uniqueTag = ''

  constructor({ unique }: { unique: boolean }) {
    this.#unique = unique
  }

  /** A tag of one event in 1000. */
  get rareTag(): string {
    return `${this.run}:order:7`
  }

  /** The tag of the event of `live`. */
  get liveTag(): string {
    return `${this.run}:live`
  }

  /** A tag of a single event. */
  get uniqueTag(): string {
    return this.#uniqueTag
  }

  request(count: number): AppendRequest {
    return requestOf(
      count,
      (writer) => this.#labelsOf(writer, this.#next),
      (writer) => writer.latin1(payloadText(this.#next++)),
    )
  }

  requests(requests: number, count: number): AppendRequest[] {
    return Array.from({ length: requests }, () => this.request(count))
  }

  /** An event as `load.mjs` publishes it to measure live latency. */
  live(): AppendRequest {
    return requestOf(
      1,
      (writer) => writer.bytes(encodeLabels(appId, [this.liveTag])),
      (writer) => writer.latin1('{"i":0}'),
    )
  }

  #labelsOf(writer: ByteWriter, i: number): void {
    const tags = [this.run, `${this.run}:machine:${i % 7}`, `${this.run}:order:${i % 1000}`]
    if (this.#unique) {
      const unique = randomUUID()
      // A tag of an early event, like the event of the baseline, which comes first.
      if (i === tagPeriod / 2) this.#uniqueTag = unique
      writer.bytes(encodeLabels(appId, [...tags, randomUUID(), unique]))
      return
    }
    const known = this.#labels.get(i % tagPeriod)
    if (known === undefined) this.#labels.set(i % tagPeriod, encodeLabels(appId, tags))
    writer.bytes(this.#labels.get(i % tagPeriod) as Buffer)
  }
}

function payloadText(i: number): string {
  return JSON.stringify({
    type: 'measurement',
    id: i,
    machine: `machine-${i % 7}`,
    order: `order-${i % 1000}`,
    value: Math.sin(i) * 100,
    unit: 'celsius',
    ok: i % 7 !== 0,
    note: 'temperature at the outlet of the second stage',
    at: 1700000000000 + i * 37,
  })
}

type Write = (writer: ByteWriter) => void

function requestOf(count: number, labels: Write, payload: Write): AppendRequest {
  const writer = new ByteWriter(400 * count)
  const spans = new Int32Array(4 * count)
  for (let i = 0; i < count; i++) {
    spans[4 * i] = writer.length
    labels(writer)
    spans[4 * i + 1] = writer.length
    spans[4 * i + 2] = writer.length
    payload(writer)
    spans[4 * i + 3] = writer.length
  }
  return { source: writer.copy(), spans, streams: new Uint32Array(count) }
}

const builder = new FrameBuilder()
const record = new ByteWriter()

/** The uncompressed record of a request. Reuses its buffers, to avoid garbage in the measurement. */
export function recordOf({ source, spans, streams }: AppendRequest): Buffer {
  for (let i = 0; i < streams.length; i++) builder.add(i, Date.now() * 1000, source, spans, 4 * i)
  builder.finish(0, randomSeed(systemRandom), record.clear())
  return record.copy()
}
