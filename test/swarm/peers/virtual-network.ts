import { type Dial, Dialler } from '../../../src/swarm/peers/index.ts'

/** How a dial from one node to an address of another one ends. */
export type Reach = 'connects' | 'refused' | 'times out'

interface Session {
  readonly dialler: VirtualNode
  readonly listener: VirtualNode
  /** The nodes that have it: each learns of the other's end later. */
  readonly openAt: Set<VirtualNode>
}

export interface VirtualNode {
  readonly name: string
  readonly addresses: readonly string[]
  readonly dialler: Dialler
  /** By number of the session. */
  readonly sessions: Map<number, { readonly peer: VirtualNode; readonly session: Session }>
  readonly dials: (Dial & { readonly at: number })[]
  wakesAt: number
}

interface Step {
  readonly at: number
  readonly run: () => void
}

/** Nodes that dial each other in virtual time, over a network that delays and refuses. */
export class VirtualNetwork {
  readonly nodes: VirtualNode[] = []
  readonly #byName = new Map<string, VirtualNode>()
  readonly #byAddress = new Map<string, VirtualNode>()
  readonly #random: () => number
  readonly #reach: (from: VirtualNode, to: VirtualNode, address: string) => Reach
  /** A binary heap: the earliest step first. */
  readonly #steps: Step[] = []
  #sessions = 0
  now = 0
  maxDialsAtOnce = 0
  readonly #dialling = new Map<VirtualNode, number>()

  constructor(random: () => number, reach: (from: VirtualNode, to: VirtualNode, address: string) => Reach) {
    this.#random = random
    this.#reach = reach
  }

  add(name: string, addresses: readonly string[]): VirtualNode {
    const dialler = new Dialler({ self: name, random: this.#random }, this.now)
    dialler.setOwnAddresses(addresses)
    const node: VirtualNode = { name, addresses, dialler, sessions: new Map(), dials: [], wakesAt: Infinity }
    this.nodes.push(node)
    this.#byName.set(name, node)
    for (const address of addresses) this.#byAddress.set(address, node)
    return node
  }

  after(ms: number, run: () => void): void {
    this.#push({ at: this.now + ms, run })
  }

  /** Runs until a time. */
  runTo(end: number): void {
    for (const node of this.nodes) this.act(node)
    for (;;) {
      const step = this.#steps[0]
      if (step === undefined || step.at > end) break
      this.#pop()
      this.now = step.at
      step.run()
    }
    this.now = end
  }

  /** Begins the dials that are due on a node, and sets its timer. */
  act(node: VirtualNode): void {
    for (const dial of node.dialler.due(this.now)) this.#dial(node, dial)
    for (const { to, nodes } of node.dialler.introductions(this.now, (a, b) => this.#areConnected(a, b)))
      for (const introduced of nodes) this.#introduce(node, to, introduced.peer, introduced.addresses)
    const at = node.dialler.wakeAt
    if (at === undefined || at >= node.wakesAt) return
    node.wakesAt = at
    this.#push({ at: Math.max(at, this.now), run: () => this.#wake(node, at) })
  }

  /** Ends a session; the two ends notice it at different times. */
  breakSession(session: Session, noticedAfterMs: readonly [dialler: number, listener: number]): void {
    const [dialler, listener] = noticedAfterMs
    this.after(dialler, () => this.#end(session, session.dialler, 'reset'))
    this.after(listener, () => this.#end(session, session.listener, 'reset'))
  }

  /** All sessions that a node has with a peer. */
  between(node: VirtualNode, peer: VirtualNode): Session[] {
    return [...node.sessions.values()].filter((other) => other.peer === peer).map(({ session }) => session)
  }

  #wake(node: VirtualNode, at: number): void {
    if (node.wakesAt !== at) return
    node.wakesAt = Infinity
    this.act(node)
  }

  #areConnected(a: string, b: string): boolean {
    return this.#byName.get(a)?.dialler.isConnected(b) === true
  }

  #introduce(from: VirtualNode, to: string, peer: string, addresses: readonly string[]): void {
    this.after(this.#delay(), () => {
      const receiver = this.#byName.get(to)
      if (receiver === undefined) return
      receiver.dialler.learned(peer, addresses, 'introduced', this.now, from.name)
      this.act(receiver)
    })
  }

  #dial(node: VirtualNode, dial: Dial): void {
    node.dials.push({ ...dial, at: this.now })
    const underWay = (this.#dialling.get(node) ?? 0) + 1
    this.#dialling.set(node, underWay)
    this.maxDialsAtOnce = Math.max(this.maxDialsAtOnce, underWay)
    const ended = (): void => {
      this.#dialling.set(node, (this.#dialling.get(node) ?? 0) - 1)
    }
    const listener = this.#byAddress.get(dial.address)
    const reach = listener === undefined ? 'refused' : this.#reach(node, listener, dial.address)
    const fail = (ms: number, reason: string, isAnotherNode: boolean, answeredBy?: string): void =>
      this.after(ms, () => {
        ended()
        node.dialler.dialFailed(dial.peer, dial.address, reason, isAnotherNode, this.now, answeredBy)
        this.act(node)
      })
    if (listener === undefined || reach === 'refused') fail(this.#delay(), 'refused', false)
    else if (reach === 'times out') fail(5000 + 25_000 * this.#random(), 'timeout', false)
    else if (listener.name !== dial.peer) fail(this.#delay(), 'another node', true, listener.name)
    else
      this.after(this.#delay(), () => {
        const session: Session = { dialler: node, listener, openAt: new Set([node, listener]) }
        ended()
        this.#open(session, node, 'outbound', dial.address)
        this.after(this.#delay(), () => this.#open(session, listener, 'inbound', '/ip4/10.9.9.9/tcp/50000'))
      })
  }

  #open(session: Session, node: VirtualNode, direction: 'inbound' | 'outbound', address: string): void {
    const peer = direction === 'outbound' ? session.listener : session.dialler
    const id = ++this.#sessions
    node.sessions.set(id, { peer, session })
    const closed = node.dialler.connected(peer.name, { id, direction, address }, this.now)
    node.dialler.learned(peer.name, peer.addresses, 'identify', this.now)
    for (const double of closed) {
      const found = node.sessions.get(double)
      // A double is closed after what waits was sent.
      if (found !== undefined) this.after(this.#delay(), () => this.#closeBoth(found.session, node))
    }
    // The other side may have gone before this one has heard of the connection.
    if (session.openAt.size < 2) this.#end(session, node, 'reset')
    this.act(node)
  }

  #closeBoth(session: Session, first: VirtualNode): void {
    this.#end(session, first, 'double')
    const second = first === session.dialler ? session.listener : session.dialler
    this.after(this.#delay(), () => this.#end(session, second, 'double'))
  }

  #end(session: Session, node: VirtualNode, reason: string): void {
    session.openAt.delete(node)
    for (const [id, other] of node.sessions)
      if (other.session === session) {
        node.sessions.delete(id)
        node.dialler.disconnected(other.peer.name, id, reason, this.now)
      }
    this.act(node)
  }

  #delay(): number {
    return this.#random() < 0.1 ? 2000 * this.#random() : 100 * this.#random()
  }

  #push(step: Step): void {
    let at = this.#steps.push(step) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = this.#steps[parent] as Step
      if (above.at <= step.at) break
      this.#steps[at] = above
      at = parent
    }
    this.#steps[at] = step
  }

  #pop(): void {
    const last = this.#steps.pop()
    const { length } = this.#steps
    if (last === undefined || length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= length) break
      const child =
        left + 1 < length && (this.#steps[left + 1] as Step).at < (this.#steps[left] as Step).at ? left + 1 : left
      const below = this.#steps[child] as Step
      if (below.at >= last.at) break
      this.#steps[at] = below
      at = child
    }
    this.#steps[at] = last
  }
}
