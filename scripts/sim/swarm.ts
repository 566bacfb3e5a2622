import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Block } from '../../src/files/unixfs/index.ts'
import type { StreamKey } from '../../src/protocol/index.ts'
import type { StartMarks } from '../../src/store/port/index.ts'
import { SeededRandom } from '../../test/support/virtual-runtime.ts'
import { Random } from '../crash/random.ts'
import { Agenda, SimClock, timersOf } from './agenda.ts'
import { Observer } from './checks/observer.ts'
import { SentMessages } from './checks/sent-messages.ts'
import type { ReceivedEvent } from './event-lines.ts'
import { Ledger } from './ledger.ts'
import { type Endpoint, Network } from './network.ts'
import { isLinked, type Scenario } from './scenario.ts'
import { type SignatureScheme, signatureScheme } from './signatures.ts'
import { MemorySimStore, type SimStore, type SimStoreOptions, SqliteSimStore, simFolder } from './sim-store.ts'
import { Stall } from './stall.ts'
import { Trace } from './trace.ts'
import { WholeNode } from './whole-node.ts'

/** 2024-01-01, in microseconds. */
export const simStart = 1_704_067_200_000_000

/** Longest time until a client subscribes again after time travel. */
export const resubscribeMs = 1000

/** A file that a node has uploaded. Its root is the last block. */
export interface Upload {
  readonly node: WholeNode
  readonly cid: string
  readonly blocks: readonly Block[]
}

/** The nodes of a simulation, and what acts on them: faults, workload and checks. */
export class Swarm {
  readonly scenario: Scenario
  readonly agenda = new Agenda()
  readonly trace: Trace
  readonly network: Network
  readonly ledger = new Ledger()
  readonly scheme: SignatureScheme
  /** The honest nodes, without those that have left. */
  readonly nodes: WholeNode[]
  /** When a node becomes reachable: from the start unless it is given. */
  readonly joinsAt = new Map<WholeNode, number>()
  /** Nodes whose streams need not be the same everywhere, by node ID: they have signed two histories. */
  readonly equivocators = new Set<string>()
  /** Nodes that have lost own events, and have not found that out yet. */
  readonly inDoubt = new Set<WholeNode>()
  /** Nodes whose last events may be nowhere, by node ID: they have left, or are hostile. */
  readonly unreliable = new Set<string>()
  readonly uploads: Upload[] = []
  /** The virtual time up to which nodes may still change by themselves, although nothing fails any more. */
  restlessUntil = 0
  /** Called with every event that a client receives. */
  onEvent: (node: WholeNode, event: ReceivedEvent) => void = () => {}
  /** Called when a node ends a connection. */
  onClose: (by: string, peer: string) => void = () => {}
  /** Called when a node is sure of its own streams, with the milliseconds since its restart. */
  onSettled: (node: WholeNode, ms: number) => void = () => {}
  readonly #observers = new Map<WholeNode, Observer>()
  readonly #stalls = new Map<WholeNode, Stall>()
  /** The nodes that are being restarted. */
  readonly #restarts = new Map<WholeNode, Promise<void>>()
  readonly #linked = new Map<WholeNode, Set<WholeNode>>()
  readonly #atEnd: (() => void)[] = []
  #folder: string | undefined

  constructor(scenario: Scenario, keepTrace: boolean) {
    this.scenario = scenario
    this.scheme = signatureScheme(scenario.signatures)
    this.scheme.install()
    this.trace = new Trace(() => this.agenda.nowMs, keepTrace)
    const sent = new SentMessages(this.ledger, this.scheme, (check) => this.agenda.after(0, check))
    this.network = new Network({
      agenda: this.agenda,
      random: this.random('network'),
      trace: this.trace,
      onSend: (message) => sent.add(message),
      onClose: (by, peer) => this.onClose(by, peer),
    })
    this.nodes = Array.from({ length: scenario.nodes }, (_, i) => this.#node(i))
  }

  /** Random numbers of one part: leaving a part out does not change the others. */
  random(part: string): Random {
    return new Random(`${this.scenario.seed} ${part}`)
  }

  /** A node that has not left. */
  any(random: Random): WholeNode {
    return this.nodes[random.below(this.nodes.length)] as WholeNode
  }

  /** Starts asynchronous work, whose error fails the simulation. */
  start(work: Promise<unknown>): void {
    work.catch(this.agenda.fail)
  }

  /** Does something at a random time before the faults end. */
  sometime(random: Random, work: () => void): void {
    this.agenda.after(random.next() * this.scenario.publishMs, work)
  }

  whenFaultsEnd(work: () => void): void {
    this.#atEnd.push(work)
  }

  endFaults(): void {
    for (const work of this.#atEnd) work()
    this.network.calm()
    this.agenda.after(this.restlessUntil - this.agenda.nowMs, () => {
      for (const { retention } of this.nodes) retention.stop()
    })
    this.trace.note('no more faults')
  }

  /** Links the nodes, as the shape of the scenario says. */
  connect(): void {
    const { nodes, scenario } = this
    for (const node of nodes) this.start(node.start())
    for (const [b, second] of nodes.entries())
      for (const [a, first] of nodes.slice(0, b).entries())
        if (isLinked(scenario.shape, a, b, nodes.length)) this.#link(first, second)
  }

  /** Links two nodes, as soon as both have joined. */
  #link(a: WholeNode, b: WholeNode): void {
    for (const [node, other] of [
      [a, b],
      [b, a],
    ] as const)
      this.#linked.set(node, (this.#linked.get(node) ?? new Set()).add(other))
    const at = Math.max(this.joinsAt.get(a) ?? 0, this.joinsAt.get(b) ?? 0)
    this.agenda.after(at - this.agenda.nowMs, () => {
      if (this.nodes.includes(a) && this.nodes.includes(b)) this.network.join(this.#endpoint(a), this.#endpoint(b))
    })
  }

  #endpoint(node: WholeNode): Endpoint {
    return this.#stalls.get(node)?.endpointOf(node) ?? node
  }

  /** The process of a node stands still for a while. */
  stall(node: WholeNode, ms: number): void {
    this.trace.note(`stall ${node.label}`)
    this.#stalls.get(node)?.begin(ms)
  }

  /** Lets clients subscribe to all nodes. */
  observe(): void {
    const random = this.random('clients')
    const later = (work: () => void): void => void this.agenda.after(random.next() * resubscribeMs, work)
    for (const node of this.nodes) {
      const onEvent = (event: ReceivedEvent): void => this.onEvent(node, event)
      const observer = new Observer({ node, ledger: this.ledger, fail: this.agenda.fail, onEvent, later })
      this.#observers.set(node, observer)
      observer.start()
    }
  }

  observerOf(node: WholeNode): Observer | undefined {
    return this.#observers.get(node)
  }

  /** Restarts a node, and lets its clients subscribe again. */
  restart(node: WholeNode): Promise<void> {
    return this.#inTurn(node, () => this.#restart(node))
  }

  /** Restarts a node with the last copy of its store. */
  restore(node: WholeNode, found: Partial<StartMarks>): Promise<void> {
    return this.#inTurn(node, () => this.#restore(node, found))
  }

  /** Restarts a node that was not stopped cleanly, but has lost nothing. */
  crash(node: WholeNode): Promise<void> {
    return this.#inTurn(node, () => {
      node.disk.copy()
      return this.#restore(node, { isCleanStop: false })
    })
  }

  /** Several faults may restart a node at the same time: it has started before the next one stops it. */
  #inTurn(node: WholeNode, restart: () => Promise<void>): Promise<void> {
    const before = this.#restarts.get(node)
    // It may have left meanwhile.
    const again = (): Promise<void> => (this.nodes.includes(node) ? restart() : Promise.resolve())
    const done = before === undefined ? restart() : before.then(again)
    const over = done.finally(() => {
      if (this.#restarts.get(node) === over) this.#restarts.delete(node)
    })
    this.#restarts.set(node, over)
    return over
  }

  async #restart(node: WholeNode): Promise<void> {
    this.trace.note(`restart ${node.label}`)
    this.#stalls.get(node)?.end()
    const observer = this.#observers.get(node)
    observer?.stop()
    await node.restart()
    observer?.start()
  }

  /** A node is about to lose own events, and may fork its streams if no peer tells it in time. */
  forgotten(node: WholeNode): void {
    this.ledger.distrust(node.id)
    this.equivocators.add(node.id)
    this.inDoubt.add(node)
  }

  async #restore(node: WholeNode, found: Partial<StartMarks>): Promise<void> {
    this.trace.note(`restore ${node.label}`)
    this.#stalls.get(node)?.end()
    const observer = this.#observers.get(node)
    observer?.stop()
    observer?.forget()
    node.files.forget()
    await node.restart(() => node.disk.restore(found))
    observer?.start()
  }

  /** The operator of a node removes all events of a stream of another one. Clients begin again. */
  async forget(node: WholeNode, stream: StreamKey): Promise<void> {
    this.trace.note(`forget ${node.label}`)
    const observer = this.#observers.get(node)
    observer?.stop()
    observer?.forget()
    await node.forget(stream)
    observer?.start()
  }

  /** Removes a node for ever. The others stay connected to each other. */
  leave(node: WholeNode): void {
    this.trace.note(`leave ${node.label}`)
    this.#stalls.get(node)?.end()
    this.#observers.get(node)?.stop()
    this.#observers.delete(node)
    this.nodes.splice(this.nodes.indexOf(node), 1)
    this.unreliable.add(node.id)
    node.stop()
    this.network.leave(node.name)
    const others = [...(this.#linked.get(node) ?? [])].filter((other) => this.nodes.includes(other))
    for (const [i, other] of others.entries()) {
      const next = others[i + 1]
      if (next !== undefined) this.#link(other, next)
    }
    this.start(node.disk.close())
  }

  /** A key of this simulation. */
  key(name: string): ReturnType<SignatureScheme['keyPair']> {
    return this.scheme.keyPair(createHash('sha256').update(`${this.scenario.seed} ${name}`).digest())
  }

  /** Clock, timers and random numbers of a node. */
  runtime(name: string, stall?: Stall): SimStoreOptions['runtime'] & { readonly clock: SimClock } {
    return {
      clock: new SimClock(this.agenda, simStart),
      timers: timersOf(this.agenda, stall?.leftMs),
      random: new SeededRandom(`${this.scenario.seed} ${name} salts`),
    }
  }

  async close(): Promise<void> {
    for (const observer of this.#observers.values()) observer.stop()
    for (const node of this.nodes) {
      node.stop()
      await node.disk.close()
    }
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
    signatureScheme('ed25519').install()
  }

  #node(i: number): WholeNode {
    const label = `n${i}`
    const key = this.key(label)
    const stall = new Stall(this.agenda)
    const runtime = this.runtime(label, stall)
    const choices = this.random(`${label} choices`)
    const node = new WholeNode({
      label,
      key,
      scheme: this.scheme,
      agenda: this.agenda,
      network: this.network,
      trace: this.trace,
      ledger: this.ledger,
      runtime,
      disk: this.#disk(label, { key, runtime }),
      random: () => choices.next(),
      onSettled: (_, ms) => this.onSettled(node, ms),
    })
    this.#stalls.set(node, stall)
    this.ledger.addNode(node.id)
    return node
  }

  #disk(label: string, options: SimStoreOptions): SimStore {
    if (this.scenario.store === 'memory') return new MemorySimStore(options)
    this.#folder ??= simFolder()
    return new SqliteSimStore(options, join(this.#folder, label))
  }
}
