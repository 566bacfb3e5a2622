import type { Connection, IdentifyResult, Libp2p, MultiaddrConnection, Stream } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { decodeBase64 } from '../../identity/index.ts'
import type { Timer } from '../../runtime/timers.ts'
import { addressText, availableEndpoints, dialAddress, isLoopback, nameOfPeer } from './addresses.ts'
import { type Channel, channels, protocolOf } from './channel.ts'
import { closeConnection } from './close-connection.ts'
import { anotherNode, DialFailure, failureOf, HandshakeFailure, reasonOf } from './dial-failure.ts'
import type { HostOptions } from './host-options.ts'
import { createNode } from './libp2p-node.ts'
import { MdnsDiscovery } from './mdns/discovery.ts'
import { serviceName } from './mdns/service-name.ts'
import { misbehaviourOf } from './misbehaviour.ts'
import { type Session, StreamSession } from './session.ts'
import { ConnectionSetup } from './setup.ts'
import { UnreadBytes } from './unread-bytes.ts'

interface Dial {
  /** Why the exchange of the swarm key failed. */
  keyFailure: Error | undefined
}

/** The libp2p host of a node in its swarm: dials and accepts connections, and makes sessions of them. */
export class Host {
  readonly #options: HostOptions
  readonly #setups = new Map<string, ConnectionSetup>()
  readonly #sessions = new Map<string, StreamSession>()
  /** Dials in progress, by address. */
  readonly #dials = new Map<string, Dial>()
  #announce: readonly Multiaddr[] = []
  #listening: readonly Multiaddr[] = []
  #libp2p: Libp2p | undefined
  #checks: Timer | undefined
  readonly #unread = new UnreadBytes()
  #stopping: Promise<void> | undefined
  readonly #swarmKey: Buffer
  #discovery: MdnsDiscovery | undefined
  #mdnsChange: Promise<void> = Promise.resolve()

  private constructor(options: HostOptions) {
    this.#options = options
    const swarmKey = decodeBase64(options.swarmKey)
    assert(swarmKey?.length === 32, 'a swarm key has 32 bytes')
    this.#swarmKey = swarmKey
    this.setAnnounce(options.announce)
  }

  static async start(options: HostOptions): Promise<Host> {
    const host = new Host(options)
    await host.#start()
    return host
  }

  /** The multiaddrs that it listens at, without peer ID; those of all interfaces where it listens on all. */
  get addresses(): readonly string[] {
    // Determines the addresses of the interfaces anew.
    this.#libp2p?.getMultiaddrs()
    return this.#listening.map(addressText)
  }

  /** Connects to a peer at one address. Rejects with a `DialFailure`. */
  async dial(peer: string, address: string, signal: AbortSignal): Promise<Session> {
    const dial: Dial = { keyFailure: undefined }
    const timeout = new AbortController()
    const timer = this.#options.runtime.timers.setTimeout(() => timeout.abort(), limits.sessionSetupMs)
    let key: string | undefined
    try {
      const to = dialAddress(address)
      key = to.toString()
      if (this.#dials.has(key)) throw new DialFailure('this address is being dialled already')
      this.#dials.set(key, dial)
      return await this.#connect(peer, to, AbortSignal.any([signal, timeout.signal]))
    } catch (error) {
      throw failureOf(dial.keyFailure ?? error, Buffer.from(this.#options.key.publicKey).toString('latin1'))
    } finally {
      this.#options.runtime.timers.clear(timer)
      if (key !== undefined && this.#dials.get(key) === dial) this.#dials.delete(key)
    }
  }

  /** The addresses that other nodes are told: without peer ID, and none that is too long for a message. */
  get announced(): readonly string[] {
    return this.#announced([...this.#listening])
      .map(addressText)
      .filter((text) => Buffer.byteLength(text) <= limits.addressBytes)
  }

  /** Addresses to tell other nodes from now on. */
  setAnnounce(addresses: readonly string[]): void {
    this.#announce = addresses.map((address) => multiaddr(address))
  }

  /** Finds peers on the local network, and lets them find this node, or stops it. */
  setMdns(isOn: boolean): Promise<void> {
    // One change after the other: each knows what the one before it has left.
    this.#mdnsChange = this.#mdnsChange.catch(() => {}).then(() => this.#changeMdns(isOn))
    return this.#mdnsChange
  }

  async #changeMdns(isOn: boolean): Promise<void> {
    const { topic, key, runtime, log, onFound } = this.#options
    if (!isOn || this.#stopping !== undefined) {
      await this.#discovery?.stop()
      this.#discovery = undefined
      return
    }
    this.#discovery ??= await MdnsDiscovery.start({
      service: serviceName(this.#swarmKey, topic),
      self: Buffer.from(key.publicKey).toString('latin1'),
      listening: () => this.addresses,
      announce: () => this.#announce.map(addressText),
      runtime,
      log,
      onFound: ({ peer, addresses }) => onFound(peer, addresses, 'mdns'),
    })
  }

  /** Tells the peers, closes all connections and stops to listen. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#options.runtime.timers.clear(this.#checks)
    for (const setup of this.#setups.values()) setup.fail(new HandshakeFailure('this node stops'))
    await Promise.all([this.#drainSessions(), this.setMdns(false)])
    await this.#libp2p?.stop()
  }

  /** Sends and receives what waits, for a while. */
  async #drainSessions(): Promise<void> {
    const { timers } = this.#options.runtime
    const sessions = [...this.#sessions.values()]
    for (const session of sessions) session.close('stopping')
    const deadline = timers.setTimeout(() => {
      for (const session of sessions) session.close('stopping', true)
    }, limits.stopCloseMs)
    await Promise.all(sessions.map((session) => session.closed))
    timers.clear(deadline)
  }

  async #start(): Promise<void> {
    const { listen, runtime, key, agent, accepts = () => true } = this.#options
    const libp2p = await createNode({
      key,
      swarmKey: this.#swarmKey,
      listen: await availableEndpoints(listen),
      agent,
      runtime,
      accepts,
      announced: (listening) => this.#announced(listening),
      onKeyFailure: (connection, failure) => this.#keyFailed(connection, failure),
    })
    this.#libp2p = libp2p
    libp2p.addEventListener('connection:open', ({ detail }) => this.#opened(detail))
    libp2p.addEventListener('connection:close', ({ detail }) => this.#closed(detail))
    libp2p.addEventListener('peer:identify', ({ detail }) => this.#identified(detail))
    for (const channel of channels)
      await libp2p.handle(
        protocolOf(channel),
        (stream, connection) => this.#streamOpened(channel, stream, connection),
        {
          maxInboundStreams: 1,
          maxOutboundStreams: 1,
        },
      )
    await libp2p.start()
    this.#checks = runtime.timers.setInterval(() => this.#checkProgress(), limits.sessionCheckMs).unref()
    await this.setMdns(this.#options.mdns)
  }

  async #connect(peer: string, address: Multiaddr, signal: AbortSignal): Promise<Session> {
    assert(this.#libp2p !== undefined, 'a host that dials is started')
    const connection = await this.#libp2p.dial(address, { signal, force: true })
    const setup = this.#setupOf(connection)
    const abort = (): void => setup.fail(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      const found = nameOfPeer(connection.remotePeer)
      if (found !== peer) throw anotherNode(found)
      for (const channel of channels) setup.add(channel, await connection.newStream(protocolOf(channel), { signal }))
      return await this.#sessionOf(setup, peer)
    } catch (error) {
      this.#setups.delete(connection.id)
      setup.fail(error instanceof Error ? error : new Error(String(error)))
      this.#setupFailed(setup)
      throw setup.failure ?? error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  #opened(connection: Connection): void {
    const setup = this.#setupOf(connection)
    if (connection.direction === 'outbound') return
    this.#accept(setup).catch((error: unknown) => {
      this.#setups.delete(connection.id)
      this.#setupFailed(setup)
      if (this.#stopping === undefined)
        this.#options.onInboundFailure(addressText(connection.remoteAddr), reasonOf(error))
    })
  }

  #setupFailed({ connection, failure }: ConnectionSetup): void {
    const peer = nameOfPeer(connection.remotePeer)
    if (misbehaviourOf(failure) !== undefined && peer !== undefined) this.#options.onMisbehaviour?.(peer)
    void closeConnection(connection, this.#options.runtime.timers)
  }

  async #accept(setup: ConnectionSetup): Promise<void> {
    const peer = nameOfPeer(setup.connection.remotePeer)
    if (peer === undefined) throw new HandshakeFailure('the key of the node is not an Ed25519 key')
    await this.#sessionOf(setup, peer)
  }

  async #sessionOf(setup: ConnectionSetup, peer: string): Promise<Session> {
    const { connection } = setup
    const { streams, agent, addresses } = await setup.done
    if (this.#stopping !== undefined) throw new HandshakeFailure('this node stops')
    this.#setups.delete(connection.id)
    const session = new StreamSession({
      peer,
      direction: connection.direction,
      address: addressText(connection.remoteAddr),
      agent,
      listenAddresses: addresses,
      streams,
      runtime: this.#options.runtime,
      unreadChanged: (change) =>
        this.#unread.changed(peer, change, this.#sessions.values())?.close('tooMuchUnread', true),
      closeConnection: () => closeConnection(connection, this.#options.runtime.timers),
    })
    this.#sessions.set(connection.id, session)
    this.#options.onSession(session)
    session.start()
    return session
  }

  #streamOpened(channel: Channel, stream: Stream, connection: Connection): void {
    if (this.#sessions.has(connection.id)) stream.abort(new Error('the session has its streams already'))
    else this.#setupOf(connection).add(channel, stream)
  }

  #setupOf(connection: Connection): ConnectionSetup {
    const known = this.#setups.get(connection.id)
    if (known !== undefined) return known
    const setup = new ConnectionSetup(connection, this.#options.topic, this.#options.runtime)
    this.#setups.set(connection.id, setup)
    return setup
  }

  #identified({ connection, agentVersion, listenAddrs, observedAddr }: IdentifyResult): void {
    const peer = nameOfPeer(connection.remotePeer)
    // Of an outbound connection it would be the address of a socket that does not listen.
    if (observedAddr !== undefined && peer !== undefined && connection.direction === 'inbound')
      this.#options.onObserved?.(peer, addressText(observedAddr))
    const addresses = listenAddrs.map(addressText).slice(0, limits.addressesPerNode)
    this.#setups.get(connection.id)?.identified({ agent: agentVersion?.slice(0, limits.agentLength), addresses })
  }

  #closed(connection: Connection): void {
    this.#setups
      .get(connection.id)
      ?.fail(new HandshakeFailure('the other side closed the connection before it was ready'))
    this.#setups.delete(connection.id)
    this.#sessions.get(connection.id)?.connectionLost(undefined)
    this.#sessions.delete(connection.id)
    // Who is known is remembered elsewhere: identities are free, and the peer store of libp2p has no limit.
    if (this.#libp2p?.getConnections(connection.remotePeer).length === 0)
      this.#libp2p.peerStore.delete(connection.remotePeer).catch(() => {})
  }

  #keyFailed(connection: MultiaddrConnection, failure: Error): void {
    const address = addressText(connection.remoteAddr)
    if (connection.direction === 'inbound') {
      if (this.#stopping === undefined) this.#options.onInboundFailure(address, failure.message)
      return
    }
    const dial = this.#dials.get(address)
    if (dial !== undefined) dial.keyFailure = failure
  }

  #checkProgress(): void {
    const now = this.#options.runtime.clock.steadyMs()
    for (const session of this.#sessions.values()) session.checkProgress(now)
  }

  /** Other machines cannot use loopback addresses; nodes that listen on nothing else are on one machine. */
  #announced(listening: Multiaddr[]): Multiaddr[] {
    this.#listening = listening
    const reachable = listening.filter((address) => !isLoopback(address))
    const own = reachable.length > 0 || this.#announce.length > 0 ? reachable : listening
    return [...this.#announce, ...own].slice(0, limits.addressesPerNode)
  }
}
