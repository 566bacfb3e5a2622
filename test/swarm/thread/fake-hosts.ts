import { DialFailure, type Host, type Session, type SessionEnd } from '../../../src/swarm/host/index.ts'

/** Hosts in one process, whose sessions are pairs of objects. Messages arrive in later microtasks. */
export class FakeNetwork {
  readonly #hosts = new Map<string, FakeHost>()
  /** Addresses at which dials wait until they are let through. */
  readonly held = new Map<string, (() => void)[]>()

  host(name: string, address: string, onSession: (session: FakeSession) => void): FakeHost {
    const host = new FakeHost(this, name, address, onSession)
    this.#hosts.set(address, host)
    return host
  }

  at(address: string): FakeHost | undefined {
    return this.#hosts.get(address)
  }

  remove(address: string): void {
    this.#hosts.delete(address)
  }
}

export class FakeHost implements Pick<Host, 'dial'> {
  readonly name: string
  readonly address: string
  readonly onSession: (session: FakeSession) => void
  readonly dials: string[] = []
  readonly #network: FakeNetwork

  constructor(network: FakeNetwork, name: string, address: string, onSession: (session: FakeSession) => void) {
    this.#network = network
    this.name = name
    this.address = address
    this.onSession = onSession
  }

  async dial(peer: string, address: string): Promise<Session> {
    this.dials.push(address)
    const held = this.#network.held.get(address)
    if (held !== undefined) await new Promise<void>((resolve) => held.push(resolve))
    const other = this.#network.at(address)
    if (other === undefined) throw new DialFailure('connection refused: no node listens at this address')
    if (other.name !== peer)
      throw new DialFailure('another node has this address', { isAnotherNode: true, other: other.name })
    const [mine, theirs] = FakeSession.pair(this, other)
    this.onSession(mine)
    other.onSession(theirs)
    return mine
  }
}

export class FakeSession implements Session {
  readonly peer: string
  readonly direction: 'inbound' | 'outbound'
  readonly address: string
  readonly agent = 'A Node'
  readonly listenAddresses: readonly string[]
  onMessage: Session['onMessage'] = () => {}
  onCongested: Session['onCongested'] = () => {}
  onBytes: Session['onBytes'] = () => {}
  onSent: Session['onSent'] = () => {}
  onClose: Session['onClose'] = () => {}
  readonly sent: { readonly channel: string; readonly bytes: Uint8Array }[] = []
  readonly paused: boolean[] = []
  sentBytes = 0
  receivedBytes = 0
  waitingBytes = 0
  closedWith: string | undefined
  #other: FakeSession | undefined
  #isOver = false

  constructor(peer: FakeHost, direction: 'inbound' | 'outbound') {
    this.peer = peer.name
    this.direction = direction
    this.address = direction === 'outbound' ? peer.address : '/ip4/10.9.9.9/tcp/50000'
    this.listenAddresses = [peer.address]
  }

  static pair(from: FakeHost, to: FakeHost): [FakeSession, FakeSession] {
    const [mine, theirs] = [new FakeSession(to, 'outbound'), new FakeSession(from, 'inbound')]
    mine.#other = theirs
    theirs.#other = mine
    return [mine, theirs]
  }

  get isOver(): boolean {
    return this.#isOver
  }

  waitingOn(): number {
    return this.waitingBytes
  }

  send(channel: 'live' | 'sync' | 'blocks', bytes: Uint8Array): void {
    this.sent.push({ channel, bytes })
    this.sentBytes += bytes.length
    queueMicrotask(() => this.#other?.deliver(channel, bytes))
  }

  /** A message of the peer arrives. */
  deliver(channel: 'live' | 'sync' | 'blocks', bytes: Uint8Array): void {
    if (this.#isOver) return
    this.receivedBytes += bytes.length
    this.onMessage(channel, Buffer.from(bytes))
  }

  pause(isPaused: boolean): void {
    this.paused.push(isPaused)
  }

  close(reason: string): void {
    this.closedWith ??= reason
    this.end(reason)
    this.#other?.end(`the peer closed the session: ${reason}`)
  }

  /** The connection is gone. */
  end(reason: string, end: SessionEnd = { by: 'the network', code: undefined }): void {
    if (this.#isOver) return
    this.#isOver = true
    queueMicrotask(() => this.onClose(reason, end))
  }
}
