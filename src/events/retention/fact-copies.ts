import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { nodeAppId } from '../../identity/index.ts'
import type { EventLog, Readings, StreamStatus } from '../../store/index.ts'
import { type NodeEvent, ownNodeEvents } from '../node-events.ts'
import { factsStream, factTags, mappingTag } from '../routing-table.ts'
import type { StreamNames } from '../stream-names.ts'

/**
 * Copies facts to the stream without limits before their events are pruned. Facts are published there in the first place,
 * so this is for those that were published before their stream got limits, or by an earlier version.
 */
export class FactCopies {
  readonly #store: EventLog & Readings
  readonly #names: StreamNames
  /** By stream: facts before this offset were copied, also if pruning failed afterwards. */
  readonly #copied = new Map<number, number>()

  constructor(store: EventLog & Readings, names: StreamNames) {
    this.#store = store
    this.#names = names
  }

  /** Copies the facts of an own stream before an offset. */
  async copyBefore({ key, number, pruned }: StreamStatus, end: number): Promise<void> {
    const from = Math.max(pruned, this.#copied.get(number) ?? 0)
    if (from >= end) return
    const facts = await this.#newest(number, from, end)
    if (facts.size > 0) await this.#copy(facts, key.number)
    this.#copied.set(number, end)
  }

  async #copy(facts: ReadonlyMap<string, NodeEvent>, source: number): Promise<void> {
    await this.#names.add([factsStream], true)
    const target = this.#names.numbers.get(factsStream)
    assert(target !== undefined && target !== source, 'facts are copied to another stream')
    const stream = (await this.#store.streams()).find(({ own, key }) => own && key.number === target)
    const known =
      stream === undefined ? new Map<string, NodeEvent>() : await this.#newest(stream.number, 0, stream.count)
    const missing = [...facts].filter(([subject, { lamport }]) => !(originalLamport(known.get(subject)) >= lamport))
    const copies = missing.map(([, fact]) => copyOf(fact))
    for (let i = 0; i < copies.length; i += limits.factsPerCopy)
      await this.#names.append(factsStream, copies.slice(i, i + limits.factsPerCopy))
  }

  /** The facts of a stream between two offsets, by what they are about: only the newest one counts. */
  async #newest(stream: number, from: number, end: number): Promise<Map<string, NodeEvent>> {
    const facts = new Map<string, NodeEvent>()
    const selection = {
      anyOf: factTags.map((tag) => ({ tags: [tag], appId: nodeAppId, own: true })),
      order: 'asc',
      lower: new Map([[stream, from - 1]]),
      upper: new Map([[stream, end - 1]]),
    } as const
    for await (const event of ownNodeEvents(this.#store, selection)) {
      const subject = subjectOf(event)
      // Deleted first, so that the facts stay in the order of their events.
      facts.delete(subject)
      facts.set(subject, event)
    }
    return facts
  }
}

/** What a fact is about: the name of a stream, or a name of files. */
function subjectOf({ tags, payload, offset }: NodeEvent): string {
  const { streamName, streamNr, Add: added, Remove: removed } = members(payload)
  const name = streamName ?? members(added ?? removed)['name'] ?? offset
  // A name whose stream was frozen has several numbers, each of which is a fact of its own.
  return JSON.stringify([tags, name, streamNr])
}

/** The lamport timestamp of a fact, or of the original of a copy. A mapping never changes, so any event has it. */
function originalLamport(fact: NodeEvent | undefined): number {
  if (fact === undefined) return -1
  if (fact.tags.includes(mappingTag)) return Number.POSITIVE_INFINITY
  const { copyOf: original } = members(fact.payload)
  return original === undefined ? fact.lamport : Number(members(original)['lamport'])
}

/** The copy of a fact names its original, whose place in the total order it takes. A mapping has no other version. */
function copyOf({ tags, payload, lamport, stream }: NodeEvent): Pick<NodeEvent, 'tags' | 'payload'> {
  if (tags.includes(mappingTag)) return { tags, payload }
  return { tags, payload: { ...members(payload), copyOf: { lamport, stream } } }
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
