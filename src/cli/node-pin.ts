import type { NodeId } from '../identity/index.ts'
import type { KnownNodes } from './known-nodes.ts'
import type { PortAddress } from './node-address.ts'
import { addressText, wrongNode } from './node-connection.ts'

/** Which node has to answer at an address: the one that it names, or the one that was seen there first. */
export class NodePin {
  readonly #address: PortAddress
  readonly #known: KnownNodes
  readonly #isLoopback: boolean
  /** The node of the certificate. */
  #proven: NodeId | undefined

  constructor(address: PortAddress, known: KnownNodes, isLoopback: boolean) {
    this.#address = address
    this.#known = known
    this.#isLoopback = isLoopback
  }

  /** Throws unless a certificate is that of the expected node. */
  prove(node: NodeId): void {
    const at = addressText(this.#address)
    if (this.#address.node !== undefined) this.#require(this.#address.node, node)
    // Nodes of this machine come and go.
    else if (!this.#isLoopback) {
      const first = this.#known.at(at) ?? this.#known.add(at, node)
      this.#require(first, node, `. If the node was replaced, remove its line from ${this.#known.file}`)
    }
    this.#proven = node
  }

  /** Throws unless a node that names itself is the expected one: a signature is only made for it. */
  check(node: NodeId): void {
    const expected = this.#proven ?? this.#address.node
    if (expected !== undefined) this.#require(expected, node)
  }

  #require(expected: NodeId, node: NodeId, hint?: string): void {
    if (expected !== node) throw wrongNode(this.#address, expected, node, hint)
  }
}
