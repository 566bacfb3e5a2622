import { AssertionError } from 'node:assert'
import type { Random } from '../crash/random.ts'
import { planBulk } from './bulk-workload.ts'
import { checkQuery } from './checks/query.ts'
import { isReaction, type ReceivedEvent, reactionTo } from './event-lines.ts'
import { FileWorkload } from './file-workload.ts'
import type { Swarm } from './swarm.ts'
import type { WholeNode } from './whole-node.ts'

const mostReactions = 10
const queries = 5

/** What apps do: publish, react to events, and query. */
export class Workload {
  readonly #swarm: Swarm
  readonly #random: Random
  /** The share of publishes by the first node, and the largest number of events: some streams have several chunks. */
  readonly #favouriteShare: number
  readonly #mostEvents: number
  #reactions = 0
  #isOver = false

  constructor(swarm: Swarm) {
    this.#swarm = swarm
    this.#random = swarm.random('workload')
    const hasLongStream = this.#random.chance(0.1)
    this.#favouriteShare = hasLongStream ? 0.8 : 0
    this.#mostEvents = hasLongStream ? 1500 : 100
  }

  plan(): void {
    const swarm = this.#swarm
    const { publishes, clients } = swarm.scenario
    for (let i = 0; i < publishes; i++) {
      const choices = swarm.random(`publish ${i}`)
      swarm.sometime(choices, () => swarm.start(this.#publish(i, choices)))
    }
    swarm.whenFaultsEnd(() => {
      this.#isOver = true
    })
    if (!clients) return
    new FileWorkload(swarm).plan()
    planBulk(swarm)
    swarm.observe()
    swarm.onEvent = (node, event) => this.#react(node, event)
    for (let i = 0; i < queries; i++)
      swarm.sometime(this.#random, () => swarm.start(this.#query(swarm.any(this.#random))))
  }

  async #query(node: WholeNode): Promise<void> {
    const { done } = node.restarts
    try {
      await checkQuery(node, this.#swarm.ledger)
    } catch (error) {
      // Its node is restarted or leaves, and ends its queries.
      const hasEnded = node.restarts.begun > done || !this.#swarm.nodes.includes(node)
      if (error instanceof AssertionError || !hasEnded) throw error
    }
  }

  async #publish(i: number, random: Random): Promise<void> {
    const node = random.chance(this.#favouriteShare) ? this.#swarm.nodes[0] : this.#swarm.any(random)
    const isMany = random.chance(0.05)
    const count = isMany ? 1 + random.below(this.#mostEvents) : 1 + random.below(3)
    const size = random.chance(0.05) ? random.below(40_000) : random.below(60)
    const text = 'x'.repeat(isMany ? 20 : size)
    const payloads = Array.from({ length: count }, (_, j) => JSON.stringify({ id: `${i}.${j}`, text }))
    await node?.publishTo(random.chance(0.2) ? 'default' : 'app', payloads)
  }

  /** A reaction has to sort after the event that caused it. */
  #react(node: WholeNode, event: ReceivedEvent): void {
    if (this.#isOver || this.#reactions >= mostReactions || isReaction(event) || !this.#random.chance(0.02)) return
    this.#reactions++
    this.#swarm.start(node.publishTo('app', [reactionTo(event, node.label)]))
  }
}
