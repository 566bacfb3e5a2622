import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { copyOfFact, factTags, WinningFacts } from '../../facts/index.ts'
import { nodeAppId } from '../../identity/index.ts'
import type { EventLog, Readings, StreamStatus } from '../../store/index.ts'
import { type NodeEvent, ownNodeEvents } from '../node-events.ts'
import { factsStream } from '../routing-table.ts'
import type { StreamNames } from '../stream-names.ts'

/**
 * Copies facts to the stream without limits: before their events are pruned, and out of frozen streams, of which other
 * nodes get only a part. Facts that are published while their stream has limits go there in the first place, so this is
 * for those from before, or of an earlier version.
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

  /** Copies the winning facts of an own stream before an offset. */
  async copyBefore({ key, number, pruned }: StreamStatus, end: number): Promise<void> {
    const from = Math.max(pruned, this.#copied.get(number) ?? 0)
    if (from >= end) return
    const facts = await this.#factsOf(number, from, end)
    if (facts.size > 0) await this.#copy(facts, key.number)
    this.#copied.set(number, end)
  }

  /** Copies the winning facts of those own streams that are frozen. */
  async copyFrozen(own: readonly StreamStatus[]): Promise<void> {
    for (const stream of own) {
      // A frozen stream does not grow, so it is read once.
      const isCopied = this.#copied.get(stream.number) === stream.count
      // The stream for facts has to move to another number first: nothing can be appended to a frozen one.
      const isTarget = stream.key.number === this.#names.numbers.get(factsStream)
      if (isCopied || isTarget || (await this.#store.evidence(stream.number)) === undefined) continue
      await this.copyBefore(stream, stream.count)
    }
  }

  async #copy(facts: WinningFacts<NodeEvent>, source: number): Promise<void> {
    await this.#names.add([factsStream], true)
    const target = this.#names.numbers.get(factsStream)
    assert(target !== undefined && target !== source, 'facts are copied to another stream')
    const stream = (await this.#store.streams()).find(({ own, key }) => own && key.number === target)
    // After a failure between copying and pruning, some are there already.
    const known =
      stream === undefined ? new WinningFacts() : await this.#factsOf(stream.number, stream.pruned, stream.count)
    const copies = facts.missingIn(known).map(({ event }) => copyOfFact(event))
    for (let i = 0; i < copies.length; i += limits.factsPerCopy)
      await this.#names.append(factsStream, copies.slice(i, i + limits.factsPerCopy))
  }

  /** The winning facts of a stream between two offsets. */
  async #factsOf(stream: number, from: number, end: number): Promise<WinningFacts<NodeEvent>> {
    const facts = new WinningFacts<NodeEvent>()
    const selection = {
      anyOf: factTags.map((tag) => ({ tags: [tag], appId: nodeAppId, own: true })),
      order: 'asc',
      lower: new Map([[stream, from - 1]]),
      upper: new Map([[stream, end - 1]]),
    } as const
    for await (const event of ownNodeEvents(this.#store, selection)) facts.add(event)
    return facts
  }
}
