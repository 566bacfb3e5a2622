import assert from 'node:assert/strict'
import { createHash, type Hash } from 'node:crypto'
import { KeyPair } from '../../src/identity/index.ts'
import { SeededRandom } from '../../test/support/virtual-runtime.ts'
import { Random } from '../crash/random.ts'
import { Agenda, clockOf, timersOf } from './agenda.ts'
import { type Faults, Network, noFaults, type Traffic } from './network.ts'
import { SimNode } from './sim-node.ts'

/** 2024-01-01, in microseconds. */
const start = 1_704_067_200_000_000
const hour = 3600e6
/** Virtual time within which all nodes have to agree, once nothing fails any more. */
const settleMs = 120_000

export type Shape = 'mesh' | 'line' | 'star' | 'halves'
const shapes = ['mesh', 'mesh', 'line', 'star', 'halves'] as const

export interface SimOptions {
  readonly seed: string
  readonly nodes: number
  /** Chosen by the seed when it is not given. */
  readonly shape?: Shape
  /** Whether messages, links and nodes fail. */
  readonly faults: boolean
  /** Milliseconds of virtual time in which events are published. */
  readonly publishMs: number
  readonly publishes: number
}

export interface SimResult {
  /** The hash of everything that happened: equal for two runs of a seed. */
  readonly traceHash: string
  readonly events: number
  readonly traffic: Traffic
  /** Virtual milliseconds from the last fault until all nodes agreed. */
  readonly settledMs: number
}

/** Per node; of events per event that a node receives. */
export interface TrafficFigures {
  readonly idleBytesPerSecond: number
  readonly pushesPerEvent: number
  readonly messagesPerEvent: number
  readonly bytesPerEvent: number
}

/** A swarm in virtual time, from a seed. */
export class World {
  readonly #options: SimOptions
  readonly #agenda = new Agenda()
  readonly #random: Random
  readonly #network: Network
  readonly #nodes: SimNode[]
  readonly #trace: Hash = createHash('sha256')
  /** The payloads that were acknowledged, per node. */
  readonly #published = new Set<string>()

  constructor(options: SimOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    const trace = (text: string): void => this.#note(text)
    this.#network = new Network(this.#agenda, this.#random, trace)
    this.#nodes = Array.from({ length: options.nodes }, (_, i) => this.#node(i))
    this.#connect(options.shape ?? this.#random.pick(shapes))
  }

  async run(): Promise<SimResult> {
    const { publishMs, publishes, faults } = this.#options
    for (let i = 0; i < publishes; i++)
      this.#agenda.after(this.#random.next() * publishMs, () => this.#start(this.#publish(i)))
    if (faults) this.#planFaults(publishMs)
    await this.#agenda.runUntil(publishMs)
    this.#network.faults = noFaults
    this.#network.partition(() => true)
    this.#note('no more faults')
    const settledMs = await this.#settle()
    await this.#check()
    return {
      traceHash: this.#trace.digest('hex'),
      events: this.#published.size,
      traffic: this.#network.traffic,
      settledMs,
    }
  }

  /** Counts messages and bytes without faults: idle, and while single events are published. */
  async measureTraffic(events: number): Promise<TrafficFigures> {
    const { traffic } = this.#network
    const nodes = this.#nodes.length
    const idleMs = 60_000
    await this.#agenda.runUntil(20_000)
    traffic.clear()
    await this.#agenda.runUntil(20_000 + idleMs)
    const idle = traffic.allBytes / nodes / (idleMs / 1000)
    traffic.clear()
    for (let i = 0; i < events; i++) {
      await this.#any().publish(0, [JSON.stringify({ id: i, text: 'x'.repeat(100) })])
      await this.#agenda.runUntil(this.#agenda.nowMs + 200)
    }
    const received = events * (nodes - 1)
    return {
      idleBytesPerSecond: idle,
      pushesPerEvent: (traffic.messages.get('push') ?? 0) / received,
      messagesPerEvent: [...traffic.messages.values()].reduce((sum, count) => sum + count, 0) / received,
      bytesPerEvent: traffic.allBytes / received,
    }
  }

  #node(i: number): SimNode {
    const { seed, faults } = this.#options
    const key = new KeyPair(createHash('sha256').update(`${seed} ${i}`).digest())
    const skew = faults && this.#random.chance(0.3) ? (this.#random.next() - 0.5) * 20 * hour : 0
    const random = new SeededRandom(`${seed} ${i} salts`)
    const runtime = { clock: clockOf(this.#agenda, start + Math.round(skew)), timers: timersOf(this.#agenda), random }
    const choices = new Random(`${seed} ${i} choices`)
    return new SimNode({
      key,
      agenda: this.#agenda,
      network: this.#network,
      runtime,
      random: () => choices.next(),
    })
  }

  #connect(shape: Shape): void {
    const nodes = this.#nodes
    const half = Math.floor(nodes.length / 2)
    const isLinked = (a: number, b: number): boolean => {
      if (shape === 'line') return b === a + 1
      if (shape === 'star') return a === 0
      // Both halves are complete, and the first node of the second half is part of both.
      if (shape === 'halves') return b <= half || a >= half
      return true
    }
    this.#note(shape)
    for (let a = 0; a < nodes.length; a++)
      for (let b = a + 1; b < nodes.length; b++)
        if (isLinked(a, b)) this.#network.join(nodes[a] as SimNode, nodes[b] as SimNode)
  }

  async #publish(i: number): Promise<void> {
    const random = this.#random
    const node = this.#nodes[random.below(this.#nodes.length)] as SimNode
    const count = random.chance(0.05) ? 1 + random.below(300) : 1 + random.below(3)
    const size = random.chance(0.05) ? random.below(40_000) : random.below(60)
    const payloads = Array.from({ length: count }, (_, j) =>
      JSON.stringify({ id: `${i}.${j}`, text: 'x'.repeat(count > 3 ? 20 : size) }),
    )
    await node.publish(random.chance(0.2) ? 1 : 0, payloads)
    for (const payload of payloads) this.#published.add(payload)
    this.#note(`publish ${count} ${node.id}`)
  }

  #planFaults(duration: number): void {
    const random = this.#random
    const faults: Faults = {
      loss: random.chance(0.5) ? random.next() * 0.1 : 0,
      duplication: random.chance(0.5) ? random.next() * 0.1 : 0,
      reordering: random.chance(0.3) ? random.next() * 0.1 : 0,
      corruption: random.chance(0.3) ? random.next() * 0.02 : 0,
      delayMs: random.chance(0.3) ? 2000 : 20,
    }
    this.#network.faults = faults
    for (let i = 0; i < random.below(4); i++) this.#agenda.after(random.next() * duration, () => this.#partition())
    for (let i = 0; i < random.below(4); i++)
      this.#agenda.after(random.next() * duration, () => this.#start(this.#restart()))
    for (let i = 0; i < random.below(6); i++)
      this.#agenda.after(random.next() * duration, () => this.#network.isolate(this.#any().name))
  }

  #start(work: Promise<void>): void {
    work.catch(this.#agenda.fail)
  }

  #any(): SimNode {
    return this.#nodes[this.#random.below(this.#nodes.length)] as SimNode
  }

  /** Splits the nodes in two groups at random, for a while. */
  #partition(): void {
    const group = new Map(this.#nodes.map(({ name }) => [name, this.#random.chance(0.5)]))
    this.#note('partition')
    this.#network.partition((a, b) => group.get(a) === group.get(b))
    this.#agenda.after(this.#random.next() * 10_000, () => {
      this.#note('healed')
      this.#network.partition(() => true)
    })
  }

  async #restart(): Promise<void> {
    const node = this.#any()
    this.#note(`restart ${node.id}`)
    await node.restart()
  }

  /** Runs until all nodes have the same heads. Throws when they do not agree in time. */
  async #settle(): Promise<number> {
    const from = this.#agenda.nowMs
    for (let ms = 500; ms <= settleMs; ms += 500) {
      await this.#agenda.runUntil(from + ms)
      if (await this.#agree()) return ms
    }
    throw new Error(`the nodes do not agree ${settleMs / 1000} s after the last fault:\n${await this.#disagreement()}`)
  }

  /** The streams on which nodes disagree: what each of them has. */
  async #disagreement(): Promise<string> {
    const all = await Promise.all(this.#nodes.map(async (node) => ({ id: node.id, heads: await node.headTexts() })))
    const isShared = (head: string): boolean => all.every(({ heads }) => heads.includes(head))
    return all.map(({ id, heads }) => `${id}: ${heads.filter((head) => !isShared(head)).join(', ')}`).join('\n')
  }

  async #agree(): Promise<boolean> {
    const [first, ...others] = await Promise.all(this.#nodes.map((node) => node.headTexts()))
    return others.every((heads) => heads.join() === first?.join())
  }

  /** The same query result on every node, with exactly the events that were acknowledged. */
  async #check(): Promise<void> {
    let expected: string | undefined
    for (const node of this.#nodes) {
      const result = await this.#queryAll(node)
      expected ??= result
      assert.equal(firstDifference(expected, result), undefined, `the nodes disagree on the events (${node.id})`)
    }
    const payloads = (expected ?? '').split('\n').filter((line) => line !== '')
    const found = new Set(payloads.map((line) => JSON.stringify((JSON.parse(line) as { payload: unknown }).payload)))
    assert.equal(payloads.length, found.size, 'no event is there twice')
    for (const payload of this.#published)
      assert.ok(found.has(payload), `the acknowledged event ${payload.slice(0, 40)} is lost`)
    assert.equal(found.size, this.#published.size, 'there are no other events')
    this.#note(expected ?? '')
  }

  async #queryAll(node: SimNode): Promise<string> {
    const pieces: Buffer[] = []
    let isDone = false
    const reading = (async () => {
      for await (const piece of node.store.read({ anyOf: [{ tags: [] }], order: 'asc' })) pieces.push(piece)
      isDone = true
    })()
    while (!isDone) await this.#agenda.step(this.#agenda.nowMs + 1000)
    await reading
    return Buffer.concat(pieces).toString('utf8')
  }

  #note(text: string): void {
    this.#trace.update(`${this.#agenda.nowMs} ${text}\n`)
  }
}

/** The first line that differs; undefined when there is none. */
function firstDifference(a: string, b: string): string | undefined {
  if (a === b) return undefined
  const [left, right] = [a.split('\n'), b.split('\n')]
  const at = left.findIndex((line, i) => line !== right[i])
  return `line ${at + 1}: ${left[at]?.slice(0, 300)} / ${right[at]?.slice(0, 300)}`
}
