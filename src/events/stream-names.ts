import { assert } from '../base/assert.ts'
import { nodeAppId } from '../identity/index.ts'
import type { EventLog, Readings } from '../store/index.ts'
import { appendNodeEvents, ownNodeEvents } from './node-events.ts'
import { defaultStream, factsStream, mappingTag } from './routing-table.ts'

interface Mapping {
  readonly streamName: string
  readonly streamNr: number
}

/**
 * The numbers of this node's streams by name. A number is assigned once and never changes. Assignments are stored only
 * as events: in the default stream, or in the stream for facts if the default stream has limits.
 */
export class StreamNames {
  readonly #store: EventLog & Readings
  readonly #numbers: Map<string, number>
  /** The last assignment. They are made one after the other: two at once would take the same number. */
  #last: Promise<void> = Promise.resolve()

  private constructor(store: EventLog & Readings, numbers: Map<string, number>) {
    this.#store = store
    this.#numbers = numbers
  }

  static async read(store: EventLog & Readings): Promise<StreamNames> {
    const numbers = new Map<string, number>()
    const branch = { tags: [mappingTag], appId: nodeAppId, own: true }
    for await (const { payload } of ownNodeEvents(store, { anyOf: [branch], order: 'asc' })) {
      const { streamName, streamNr } = payload as Mapping
      // The first assignment is valid: events may be in that stream already.
      if (!numbers.has(streamName)) numbers.set(streamName, streamNr)
    }
    return new StreamNames(store, numbers)
  }

  get numbers(): ReadonlyMap<string, number> {
    return this.#numbers
  }

  /**
   * Assigns numbers to new names. They are valid once they are stored.
   * @param isDefaultLimited whether events of the default stream are removed some day
   */
  add(names: readonly string[], isDefaultLimited: boolean): Promise<void> {
    const added = this.#last.then(() => this.#add(names, isDefaultLimited))
    // A failure is for its caller only.
    this.#last = added.catch(() => {})
    return added
  }

  async #add(names: readonly string[], isDefaultLimited: boolean): Promise<void> {
    const unknown = names.filter((name) => !this.#numbers.has(name))
    if (unknown.length === 0) return
    const next = Math.max(-1, ...this.#numbers.values()) + 1
    const mappings = unknown.map((streamName, i) => ({ streamName, streamNr: next + i }))
    assert(next > 0 || mappings[0]?.streamName === defaultStream.name, 'the first stream is the default one')
    const numbers = new Map([
      ...this.#numbers,
      ...mappings.map(({ streamName, streamNr }) => [streamName, streamNr] as const),
    ])
    const stream = (isDefaultLimited ? numbers.get(factsStream) : undefined) ?? defaultStream.number
    await appendNodeEvents(
      this.#store,
      stream,
      mappings.map((payload) => ({ tags: [mappingTag], payload })),
    )
    for (const { streamName, streamNr } of mappings) this.#numbers.set(streamName, streamNr)
  }
}
