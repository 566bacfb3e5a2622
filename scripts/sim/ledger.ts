import type { FactEvent } from '../../src/facts/index.ts'
import { formatStreamId, nodeIdOf, type PublicKey } from '../../src/identity/index.ts'

/** What honest nodes have acknowledged, outside of their stores: the payloads of each stream, by offset. */
export class Ledger {
  readonly #streams = new Map<string, string[]>()
  readonly #nodes = new Set<string>()
  readonly #redacted = new Map<string, Set<number>>()
  readonly #pruned = new Map<string, number>()
  /** When events were acknowledged, in virtual milliseconds, by stream and offset. */
  readonly #times = new Map<string, number[]>()
  /** The facts among the events, without copies. */
  readonly facts: FactEvent[] = []
  /** Number of decisions to remove something. */
  removals = 0
  events = 0

  /** From now on streams of this node have only what was acknowledged. */
  addNode(id: string): void {
    this.#nodes.add(id)
  }

  /** The streams of a node may not have what was acknowledged any more: its store was replaced by an older copy. */
  distrust(id: string): void {
    this.#nodes.delete(id)
  }

  /** Whether a stream is of an honest node. */
  isHonest(stream: string): boolean {
    return this.#nodes.has(nodeOfStream(stream))
  }

  /** Adds acknowledged events of a stream. */
  add(stream: string, offset: number, payloads: readonly string[], nowMs = 0): void {
    const known = this.#streams.get(stream) ?? []
    const times = this.#times.get(stream) ?? []
    this.#streams.set(stream, known)
    this.#times.set(stream, times)
    for (const [i, payload] of payloads.entries()) {
      known[offset + i] = payload
      times[offset + i] = nowMs
    }
    this.events += payloads.length
  }

  /** When an event was acknowledged, in virtual milliseconds. */
  timeOf(stream: string, offset: number): number {
    return this.#times.get(stream)?.[offset] ?? 0
  }

  /** The payloads at these offsets are to be removed everywhere. */
  redact(stream: string, offsets: readonly number[]): void {
    const redacted = this.#redacted.get(stream) ?? new Set()
    this.#redacted.set(stream, redacted)
    for (const offset of offsets) redacted.add(offset)
    this.removals++
  }

  /** The events before an offset are to be removed everywhere. */
  prune(stream: string, count: number): void {
    this.#pruned.set(stream, Math.max(count, this.#pruned.get(stream) ?? 0))
    this.removals++
  }

  /** Whether its node has decided to remove an event. Others may not know it yet. */
  isRemoved(stream: string, offset: number): boolean {
    return offset < (this.#pruned.get(stream) ?? 0) || this.#redacted.get(stream)?.has(offset) === true
  }

  /** The number of events at the start of a stream that its node has decided to remove. */
  prunedOf(stream: string): number {
    return this.#pruned.get(stream) ?? 0
  }

  /** Whether its node has decided to remove only the payload of an event. */
  isRedacted(stream: string, offset: number): boolean {
    return this.#redacted.get(stream)?.has(offset) === true
  }

  /** The first offset from `offset` on that was not removed. */
  nextKept(stream: string, offset: number): number {
    let next = offset
    while (this.isRemoved(stream, next)) next++
    return next
  }

  payloads(stream: string): readonly string[] {
    return this.#streams.get(stream) ?? []
  }

  /** The streams of a node with the numbers of their events. */
  countsOf(node: string): [stream: string, count: number][] {
    return [...this.#streams].flatMap(([stream, { length }]) =>
      nodeOfStream(stream) === node ? [[stream, length]] : [],
    )
  }

  /** The streams with their payloads. */
  streams(): IterableIterator<[stream: string, payloads: readonly string[]]> {
    return this.#streams.entries()
  }
}

export function streamIdOf(node: PublicKey, number: number): string {
  return formatStreamId({ node: nodeIdOf(node), number: BigInt(number) })
}

/** The ID of the node of a stream. */
export function nodeOfStream(stream: string): string {
  return stream.slice(0, stream.indexOf('-'))
}
