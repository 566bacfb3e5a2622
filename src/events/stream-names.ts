import { assert } from '../base/assert.ts'
import { nodeAppId } from '../identity/index.ts'
import { encodeLabels } from '../protocol/index.ts'
import type { AppendRequest, EventLog, Readings, Selection } from '../store/index.ts'
import { defaultStream } from './routing-table.ts'

const mappingTag = 'event_routing'

interface Mapping {
  readonly streamName: string
  readonly streamNr: number
}

/**
 * The numbers of this node's streams by name. A number is assigned once and never changes. Assignments are stored only
 * as events in the default stream, and are republished before they are pruned.
 */
export class StreamNames {
  readonly #store: EventLog & Readings
  readonly #numbers: Map<string, number>

  private constructor(store: EventLog & Readings, numbers: Map<string, number>) {
    this.#store = store
    this.#numbers = numbers
  }

  static async read(store: EventLog & Readings): Promise<StreamNames> {
    const numbers = new Map<string, number>()
    for (const { streamName, streamNr } of await storedMappings(store, new Map())) numbers.set(streamName, streamNr)
    return new StreamNames(store, numbers)
  }

  get numbers(): ReadonlyMap<string, number> {
    return this.#numbers
  }

  /** Assigns numbers to new names. They are valid once they are stored. */
  async add(names: readonly string[]): Promise<void> {
    const unknown = names.filter((name) => !this.#numbers.has(name))
    if (unknown.length === 0) return
    const next = Math.max(-1, ...this.#numbers.values()) + 1
    const mappings = unknown.map((streamName, i) => ({ streamName, streamNr: next + i }))
    assert(next > 0 || mappings[0]?.streamName === defaultStream.name, 'the first stream is the default one')
    await this.#store.append(mappingEvents(mappings))
    for (const { streamName, streamNr } of mappings) this.#numbers.set(streamName, streamNr)
  }

  /** Republishes assignments from before an offset of the default stream, so that those events can be pruned. */
  async republishBefore(offset: number): Promise<void> {
    const known = [...this.#numbers].map(([streamName, streamNr]) => ({ streamName, streamNr }))
    const first = (await this.#store.streams()).find(({ own, key }) => own && key.number === defaultStream.number)
    assert(first !== undefined, 'there are events in the first stream')
    const kept = new Set<string>()
    const after = new Map([[first.number, offset - 1]])
    for (const { streamName } of await storedMappings(this.#store, after)) kept.add(streamName)
    const lost = known.filter(({ streamName }) => !kept.has(streamName))
    if (lost.length > 0) await this.#store.append(mappingEvents(lost))
  }
}

async function storedMappings(store: Readings, lower: NonNullable<Selection['lower']>): Promise<Mapping[]> {
  const branch = { tags: [mappingTag], appId: nodeAppId, own: true }
  const pieces: Buffer[] = []
  for await (const piece of store.read({ anyOf: [branch], order: 'asc', lower })) pieces.push(Buffer.from(piece))
  const lines = Buffer.concat(pieces).toString('utf8').trim().split('\n')
  return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { payload: Mapping }).payload)
}

function mappingEvents(mappings: readonly Mapping[]): AppendRequest {
  const labels = encodeLabels(nodeAppId, [mappingTag])
  const payloads = mappings.map((mapping) => Buffer.from(JSON.stringify(mapping)))
  const spans = new Int32Array(4 * payloads.length)
  let at = labels.length
  for (const [i, payload] of payloads.entries()) {
    spans.set([0, labels.length, at, at + payload.length], 4 * i)
    at += payload.length
  }
  const streams = new Uint32Array(payloads.length).fill(defaultStream.number)
  return { source: Buffer.concat([labels, ...payloads]), spans, streams }
}
