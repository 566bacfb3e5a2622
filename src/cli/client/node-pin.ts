import type { NodeId } from '../../identity/index.ts'
import type { KnownNodes } from './known-nodes.ts'
import type { AdminAddress } from './node-address.ts'
import { addressText, wrongNode } from './node-connection.ts'

/** Pins the node at an address: to the one that the address names, otherwise to the one that was seen there first. */
export class NodePin {
  readonly #address: AdminAddress
  readonly #known: KnownNodes
  readonly #isLoopback: boolean
  /** The node that a certificate has proved. */
  #proven: NodeId | undefined

  constructor(address: AdminAddress, known: KnownNodes, isLoopback: boolean) {
    this.#address = address
    this.#known = known
    this.#isLoopback = isLoopback
  }

  /** Takes the node of a verified certificate. Throws unless it is the expected one. */
  prove(node: NodeId): void {
    const at = addressText(this.#address)
    if (this.#address.node !== undefined) this.#require(this.#address.node, node)
    // No trust on first use on loopback, where nodes come and go.
    else if (!this.#isLoopback) {
      const first = this.#known.at(at) ?? this.#known.add(at, node)
      this.#require(first, node, `. If the node was replaced, remove its line from ${this.#known.file}`)
    }
    this.#proven = node
  }

  /** Throws unless the node ID in a challenge is the expected one: a signature is made for that node only. */
  check(node: NodeId): void {
    const expected = this.#proven ?? this.#address.node
    if (expected !== undefined) this.#require(expected, node)
  }

  #require(expected: NodeId, node: NodeId, hint?: string): void {
    if (expected !== node) throw wrongNode(this.#address, expected, node, hint)
  }
}
