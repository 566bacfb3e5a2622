import type { Endpoint } from './network.ts'

/** A link between two nodes, which may be connected. */
export interface Link {
  readonly ends: readonly [Endpoint, Endpoint]
  /** Whether messages can pass: false while the nodes are apart. */
  isUp: boolean
  /** Counts connections: what was sent in an earlier one is not delivered. */
  session: number
  isConnected: boolean
  connectedAt: number
  /** When the last message of each direction arrives: later ones do not overtake it. Blocks have a stream of their own. */
  readonly lastAt: [number, number]
  readonly lastBlockAt: [number, number]
  /** Until when each direction is busy with earlier messages. */
  readonly busyUntil: [number, number]
}

/** All links of a network. */
export class Links {
  readonly #all = new Set<Link>()
  /** By the names of both ends, in both orders. */
  readonly #byEnds = new Map<string, Map<string, Link>>()

  between(a: string, b: string): Link | undefined {
    return this.#byEnds.get(a)?.get(b)
  }

  /** In the order in which they were added. */
  [Symbol.iterator](): IterableIterator<Link> {
    return this.#all.values()
  }

  add(a: Endpoint, b: Endpoint, isUp: boolean): void {
    const state = { isUp, session: 0, isConnected: false, connectedAt: 0 }
    const link: Link = { ends: [a, b], ...state, lastAt: [0, 0], lastBlockAt: [0, 0], busyUntil: [0, 0] }
    this.#all.add(link)
    for (const [from, to] of bothWays(link)) {
      const ofNode = this.#byEnds.get(from.name) ?? new Map<string, Link>()
      this.#byEnds.set(from.name, ofNode.set(to.name, link))
    }
  }

  delete(link: Link): void {
    this.#all.delete(link)
    for (const [from, to] of bothWays(link)) this.#byEnds.get(from.name)?.delete(to.name)
  }
}

export function bothWays({ ends: [a, b] }: Link): [[from: Endpoint, to: Endpoint], [from: Endpoint, to: Endpoint]] {
  return [
    [a, b],
    [b, a],
  ]
}

/** The short names of both ends, for traces. */
export function labelsOf({ ends: [a, b] }: Link): string {
  return `${a.label} ${b.label}`
}
