import { formatStreamId, nodeIdOf, type PublicKey } from '../../src/identity/index.ts'

/** What honest nodes have acknowledged, outside of their stores: the payloads of each stream, by offset. */
export class Ledger {
  readonly #streams = new Map<string, string[]>()
  readonly #nodes = new Set<string>()
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
