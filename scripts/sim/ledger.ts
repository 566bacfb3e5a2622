import { formatStreamId, nodeIdOf, type PublicKey } from '../../src/identity/index.ts'

/** What honest nodes have acknowledged, outside of their stores: the payloads of each stream, by offset. */
export class Ledger {
  readonly #streams = new Map<string, string[]>()
  readonly #nodes = new Set<string>()
  readonly #redacted = new Map<string, Set<number>>()
  readonly #pruned = new Map<string, number>()
  /** Number of decisions to remove something. */
  removals = 0
  events = 0

  /** From now on streams of this node have only what was acknowledged. */
  addNode(id: string): void {
    this.#nodes.add(id)
  }

  /** Whether a stream is of an honest node. */
  isHonest(stream: string): boolean {
    return this.#nodes.has(stream.slice(0, stream.indexOf('-')))
  }

  /** Adds acknowledged events of a stream. */
  add(stream: string, offset: number, payloads: readonly string[]): void {
    const known = this.#streams.get(stream) ?? []
    this.#streams.set(stream, known)
    for (const [i, payload] of payloads.entries()) known[offset + i] = payload
    this.events += payloads.length
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

  /** The streams with their payloads. */
  streams(): IterableIterator<[stream: string, payloads: readonly string[]]> {
    return this.#streams.entries()
  }
}

export function streamIdOf(node: PublicKey, number: number): string {
  return formatStreamId({ node: nodeIdOf(node), number: BigInt(number) })
}
